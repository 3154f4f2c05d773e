import { TestProvider } from './provider.ts';
import type { Site } from './site.ts';
import { waitFor } from './wait.ts';

/**
 * Starts the provider and waits until the API server trusts it. The site has one port for it, which another
 * run may use, and the API server asks an issuer that it could not reach again only after some seconds.
 */
export async function startBelieved(site: Site): Promise<TestProvider> {
  const provider = await waitFor(
    { what: "the provider's port", timeoutMs: 60_000, everyMs: 500 },
    () => TestProvider.start(site),
  );
  await waitFor({ what: 'the API server to trust the provider', timeoutMs: 40_000 }, async () => {
    const { idToken = '' } = await provider.login('md-first');
    const { exitCode } = await site.kubectl(['auth', 'whoami'], { token: idToken });
    return exitCode === 0 ? true : undefined;
  });
  return provider;
}
