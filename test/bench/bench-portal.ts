import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureAccounts } from '../rig/site/accounts.ts';
import { installBerth, installDirectory, Portal, type PortalTokens } from '../rig/site/portal.ts';
import { SiteOidcProvider } from '../rig/site/site-oidc-provider.ts';
import { openSite, type Site } from '../rig/site/site.ts';
import type { Command } from './measure.ts';

/** A public client whose ID tokens the cluster accepts. */
const audience = 'kubernetes';

export interface Bench {
  readonly site: Site;
  readonly portal: Portal;
  readonly provider: SiteOidcProvider;
  /** The tokens of a new login of this user. */
  tokens(user: string): Promise<PortalTokens>;
  /** The command that runs the hook for this user as nginx_stage does. */
  hook(user: string, tokens: PortalTokens): Command;
  /** The command that starts the outputs' Node with an empty script. */
  bareNode(): Command;
  close(): Promise<void>;
}

/** Creates a portal with one cluster, and the accounts of the users. @param given default: the test site */
export async function openBench(users: readonly string[], given?: Site): Promise<Bench> {
  const site = given ?? (await openSite());
  await installBerth();
  await ensureAccounts(users);
  const provider = await SiteOidcProvider.start(site, { port: 'free' });
  const portal = await Portal.make(site, {
    hookEnv: {
      IDP_ISSUER_URL: provider.issuer,
      CLIENT_ID: audience,
      USE_JOB_POD_REAPER: 'false',
    },
  });
  await writeFile(join(portal.directory, 'empty.js'), '');
  return {
    site,
    portal,
    provider,
    tokens: async (user) => {
      const idToken = await provider.sign({
        sub: user,
        aud: audience,
        preferred_username: user,
        exp: Math.floor(Date.now() / 1000) + 3600,
      });
      return { idToken, accessToken: idToken, refreshToken: `refresh-${idToken.slice(-40)}` };
    },
    hook: (user, tokens) => ({
      file: join(installDirectory, 'hooks/pre-pun'),
      args: ['--user', user, '--config', portal.files.berth],
      env: portal.environment(tokens),
    }),
    bareNode: () => ({
      file: join(installDirectory, 'node'),
      args: [join(portal.directory, 'empty.js')],
      env: portal.environment(),
    }),
    close: async () => {
      await provider.stopListening();
      await portal.remove();
    },
  };
}
