import { installed, type Portal } from '../site/portal.ts';
import { execa } from 'execa';
import { join } from 'node:path';
import type { Story } from './story.ts';

const runs = 7;

/** What a later login costs, beside the start of the Node that runs it. */
export async function timing(story: Story, portal: Portal): Promise<void> {
  story.step('What each later login waits for');
  const tokens = await portal.login('alice');
  const hook: number[] = [];
  const node: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    node.push(await timed(() => execa(join(installed, 'node'), ['--eval', '0'])));
    hook.push(await timed(() => portal.prePun('alice', tokens)));
  }
  story.output(
    [
      `pre-pun --user alice   ${median(hook)} ms`,
      `node --eval 0          ${median(node)} ms`,
      `(medians of ${runs} runs, in turn)`,
    ].join('\n'),
  );
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Of milliseconds, rounded. */
function median(values: readonly number[]): number {
  return Math.round(values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0);
}
