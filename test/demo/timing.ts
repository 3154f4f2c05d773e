import { execa } from 'execa';
import { whyOscIsMissing } from '../bench/osc.ts';
import { step } from '../rig/site/progress.ts';
import type { Story } from './story.ts';

/** Medians of wall times in milliseconds. */
interface Timing {
  readonly runs: number;
  readonly berth: number;
  readonly node: number;
  readonly osc?: number;
}

const program = new URL('compare-with-osc.ts', import.meta.url).pathname;

/** Shows the time of a later login, compared with OSC's scripts and with a bare start of Node. */
export async function timing(story: Story): Promise<void> {
  story.step('The time of a later login');
  const { runs, berth, node, osc } = await step('measuring', measured);
  story.output(
    [
      `Berth's pre-pun       ${milliseconds(berth)}`,
      `node, empty script    ${milliseconds(node)}`,
      ...(osc === undefined
        ? []
        : [
            `OSC's scripts         ${milliseconds(osc)}   ${(osc / berth).toFixed(1)} times as long`,
          ]),
    ].join('\n'),
  );
  const missing = whyOscIsMissing();
  story.say(
    `Medians of ${runs} runs${missing === undefined ? '' : `; OSC's scripts are not measured: ${missing}`}.`,
  );
  story.say('`npm run bench` measures more, with more runs.');
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
