import type { Site } from '../rig/site/site.ts';
import { ended } from './expect-exit-code.ts';
import { kubectlOf, namespaceOf, people, type Person } from './users.ts';
import type { Story } from './story.ts';

/** Each person's own kubectl reaches the own namespace and is refused the other's. */
export async function ownNamespaces(story: Story, site: Site): Promise<void> {
  story.step("Each user's own kubectl: the own namespace, and not the other's");
  for (const person of people) {
    const other = people.find((one) => one !== person) ?? person;
    await typed(story, site, person, 0, [
      'auth',
      'whoami',
      '-o',
      'jsonpath={.status.userInfo.username}',
    ]);
    await typed(story, site, person, 0, ['get', 'secrets']);
    await typed(story, site, person, 1, ['get', 'secrets', '-n', namespaceOf(other)]);
  }
}

async function typed(
  story: Story,
  site: Site,
  person: Person,
  exitCode: number,
  args: readonly string[],
): Promise<void> {
  story.command(person, ['kubectl', ...args].join(' '));
  const { stdout, stderr } = ended('kubectl', exitCode, await kubectlOf(person, site, args));
  story.output(`${stdout}\n${stderr}`.trim());
}
