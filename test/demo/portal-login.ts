import { decodeJwt } from 'jose';
import type { Portal } from '../rig/site/portal.ts';
import { ended } from './expect-exit-code.ts';
import { people, type Person } from './users.ts';
import type { Story } from './story.ts';

/** Each person logs in through Keycloak, and OnDemand runs the hook before the portal opens. */
export async function portalLogins(story: Story, portal: Portal): Promise<void> {
  story.step('Both log in at the portal; OnDemand runs the hook as root');
  for (const person of people) await portalLogin(story, portal, person);
}

async function portalLogin(story: Story, portal: Portal, person: Person): Promise<void> {
  const tokens = await portal.login(person);
  const { iss, aud, preferred_username: name } = decodeJwt(tokens.idToken ?? '');
  story.say(`Keycloak says who came in: ${JSON.stringify({ iss, aud, preferred_username: name })}`);
  const variables = Object.keys(portal.environment(tokens)).filter((key) =>
    key.startsWith('OOD_OIDC_'),
  );
  story.command('root', `${variables.map((key) => `${key}=…`).join(' ')} pre-pun --user ${person}`);
  const started = performance.now();
  const result = ended('pre-pun', 0, await portal.prePun(person, tokens));
  const took = Math.round(performance.now() - started);
  story.output(`${result.stderr}\n(${took} ms)`);
}
