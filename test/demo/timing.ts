import { execa } from 'execa';
import { oscMissing } from '../bench/osc.ts';
import { step } from '../rig/site/progress.ts';
import type { Story } from './story.ts';

/** Medians of wall time, in milliseconds. */
interface Timing {
  readonly runs: number;
  readonly berth: number;
  readonly node: number;
  readonly osc?: number;
}

const program = new URL('compare-with-osc.ts', import.meta.url).pathname;

/** What a later login costs, beside OSC's scripts and beside the start of a bare Node. */
export async function timing(story: Story): Promise<void> {
  story.step('What each later login waits for');
  const { runs, berth, node, osc } = await step('measuring, in turn', measured);
  story.output(
    [
      `Berth's pre-pun       ${milliseconds(berth)}`,
      `node, doing nothing   ${milliseconds(node)}`,
      ...(osc === undefined
        ? []
        : [
            `OSC's scripts         ${milliseconds(osc)}   ${(osc / berth).toFixed(1)} times as long`,
          ]),
    ].join('\n'),
  );
  const missing = oscMissing();
  story.say(
    `Medians of ${runs} runs${missing === undefined ? '' : `; without OSC's: ${missing}`}.`,
  );
  story.say('npm run bench measures more, and more often.');
}

async function measured(): Promise<Timing> {
  const node = [process.execPath, ...process.execArgv];
  const { stdout } = await execa('unshare', ['--mount', '--', ...node, program], {
    stdin: 'ignore',
    stderr: 'inherit',
  });
  return JSON.parse(stdout) as Timing;
}

function milliseconds(value: number): string {
  return `${value.toFixed(0).padStart(5)} ms`;
}
