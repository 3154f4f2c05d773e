import type { Site } from '../rig/site/site.ts';
import { expectExitCode } from './expect-exit-code.ts';
import { runUserKubectl, namespaceOf, demoUsers, type DemoUser } from './users.ts';
import type { Story } from './story.ts';

/** Shows that each user can access their own namespace with kubectl, and not the other user's. */
export async function ownNamespaces(story: Story, site: Site): Promise<void> {
  story.step("kubectl: each user can access their own namespace, and not the other user's");
  for (const person of demoUsers) {
    const other = demoUsers.find((one) => one !== person) ?? person;
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
  person: DemoUser,
  exitCode: number,
  args: readonly string[],
): Promise<void> {
  story.command(person, ['kubectl', ...args].join(' '));
  const { stdout, stderr } = expectExitCode(
    'kubectl',
    exitCode,
    await runUserKubectl(person, site, args),
  );
  story.output(`${stdout}\n${stderr}`.trim());
}
