import { SiteOidcProvider } from './site-oidc-provider.ts';
import type { Site } from './site.ts';
import { waitFor } from '../wait-for.ts';

/**
 * Starts a provider and waits until the API server accepts its tokens. Another test run may use the
 * provider's port, and the API server retries an unreachable issuer only after some seconds.
 */
export async function startTrustedProvider(site: Site): Promise<SiteOidcProvider> {
  const provider = await waitFor(
    { what: "the provider's port", timeoutMs: 60_000, everyMs: 500 },
    () => SiteOidcProvider.start(site),
  );
  await waitFor(
    { what: 'the API server to accept tokens of the provider', timeoutMs: 60_000 },
    async () => {
      const { idToken = '' } = await provider.login('md-first');
      const { exitCode } = await site.kubectl(['auth', 'whoami'], { token: idToken });
      return exitCode === 0 ? true : undefined;
    },
  );
  return provider;
}
