import type { Portal } from '../rig/site/portal.ts';
import { expectExitCode } from './expect-exit-code.ts';
import type { Story } from './story.ts';

/** Shows what the first login of a user would change. */
export async function planBefore(story: Story, portal: Portal): Promise<void> {
  story.step('Before the login: what would a login of alice change?');
  story.command('root', 'berth plan --user alice');
  const { stdout } = expectExitCode('berth plan', 1, await portal.berth('plan', '--user', 'alice'));
  story.output(withoutDiffs(stdout));
  story.say('The exit code is 1, as with kubectl diff. The diffs are left out here.');
}

/** Shows that after the logins a further login changes nothing. */
export async function planAfter(story: Story, portal: Portal): Promise<void> {
  story.step('After the login: nothing to change');
  const tokens = await portal.login('alice');
  story.command('root', 'pre-pun --user alice --dry-run');
  const { stdout } = expectExitCode(
    'the dry run',
    0,
    await portal.prePun('alice', tokens, '--dry-run'),
  );
  story.output(withoutDiffs(stdout));
}

/** The plan's headings, and one line for each object or file. */
function withoutDiffs(plan: string): string {
  return plan
    .split('\n')
    .filter((line) => /^(?:# | {2}\S)/.test(line))
    .join('\n');
}
