import { decodeJwt } from 'jose';
import type { Portal } from '../rig/site/portal.ts';
import { expectExitCode } from './expect-exit-code.ts';
import { demoUsers, type DemoUser } from './users.ts';
import type { Story } from './story.ts';

/** Logs each user in through Keycloak and runs the hook as OnDemand does. */
export async function portalLogins(story: Story, portal: Portal): Promise<void> {
  story.step('Both users log in to the portal; OnDemand runs the hook as root');
  for (const person of demoUsers) await portalLogin(story, portal, person);
}

async function portalLogin(story: Story, portal: Portal, person: DemoUser): Promise<void> {
  const tokens = await portal.login(person);
  const { iss, aud, preferred_username: name } = decodeJwt(tokens.idToken ?? '');
  story.say(`Claims of the ID token: ${JSON.stringify({ iss, aud, preferred_username: name })}`);
  const variables = Object.keys(portal.environment(tokens)).filter((key) =>
    key.startsWith('OOD_OIDC_'),
  );
  story.command('root', `${variables.map((key) => `${key}=…`).join(' ')} pre-pun --user ${person}`);
  const started = performance.now();
  const result = expectExitCode('pre-pun', 0, await portal.prePun(person, tokens));
  const took = Math.round(performance.now() - started);
  story.output(`${result.stderr}\n(${took} ms)`);
}
