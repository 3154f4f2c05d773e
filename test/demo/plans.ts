import type { Portal } from '../rig/site/portal.ts';
import { ended } from './expect-exit-code.ts';
import type { Story } from './story.ts';

/** What a login would do, shown before anybody logged in: nothing is changed by asking. */
export async function planBefore(story: Story, portal: Portal): Promise<void> {
  story.step('Before: what would a login of alice change?');
  story.command('root', 'berth plan --user alice');
  const { stdout } = ended('berth plan', 1, await portal.berth('plan', '--user', 'alice'));
  story.output(withoutDiffs(stdout));
  story.say(
    'The exit status is 1, as of kubectl diff; each line comes with its diff, left out here.',
  );
}

/** After the logins the same question has another answer. */
export async function planAfter(story: Story, portal: Portal): Promise<void> {
  story.step('After: nothing is left to do');
  const tokens = await portal.login('alice');
  story.command('root', 'pre-pun --user alice --dry-run');
  const { stdout } = ended('the dry run', 0, await portal.prePun('alice', tokens, '--dry-run'));
  story.output(withoutDiffs(stdout));
}

/** The headings and one line for each object or file. */
function withoutDiffs(plan: string): string {
  return plan
    .split('\n')
    .filter((line) => /^(?:# | {2}\S)/.test(line))
    .join('\n');
}
