import { TestProvider } from './provider.ts';
import type { Site } from './site.ts';
import { waitFor } from './wait.ts';

/**
 * A provider that the API server believes by now. It has one port for it, which another run may hold,
 * and the API server asks an issuer that it could not reach again after some seconds.
 */
export async function startBelieved(site: Site): Promise<TestProvider> {
  const provider = await waitFor(
    { what: "the provider's port", timeoutMs: 60_000, everyMs: 500 },
    () => TestProvider.start(site),
  );
  await waitFor({ what: 'the API server to believe the provider', timeoutMs: 40_000 }, async () => {
    const { idToken = '' } = await provider.login('md-first');
    const { exitCode } = await site.kubectl(['auth', 'whoami'], { token: idToken });
    return exitCode === 0 ? true : undefined;
  });
  return provider;
}
