/**
 * `npm run bench -- [PART …] [--check | --save]`: measures portal logins, in turn with OSC's scripts and kubectl on the same API
 * server. `--help` names its parts.
 */
import '../../scripts/check-node.ts';
import { execa } from 'execa';
import { ensureCommand } from '../rig/site/debian-packages.ts';
import { machine } from './measure.ts';
import { whyOscIsMissing, OscHooks } from './osc.ts';
import { openBench } from './bench-portal.ts';
import { benchParts, usersOf } from './parts.ts';
import { checkedFigures, heading, printLine } from './report.ts';
import { withBenchArguments } from './bench-arguments.ts';
import { checkOrSave } from './saved-performance.ts';

const inside = 'BERTH_BENCH_INSIDE';

process.exitCode = await withBenchArguments(
  {
    command: 'bench',
    about: "Portal logins, in turn with OSC's scripts and kubectl on the same API server.",
    known: Object.keys(benchParts),
    saved: 'docs/performance.json',
    hasCheck: true,
  },
  async (given) => {
    if (process.env[inside] === undefined) return inOwnMounts();
    await run(given.parts);
    return await checkOrSave(checkedFigures(), given);
  },
);

/** Runs this again in a new mount namespace, in which kubectl is mounted at /usr/local/bin for OSC's scripts. */
async function inOwnMounts(): Promise<number> {
  const args = ['--mount', '--', process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const { exitCode } = await execa('unshare', args, {
    stdio: 'inherit',
    reject: false,
    env: { [inside]: '1' },
  });
  return exitCode ?? 1;
}

async function run(names: readonly string[]): Promise<void> {
  await ensureCommand('time', 'time');
  const bench = await openBench(usersOf(names));
  const missing = whyOscIsMissing();
  const osc = missing === undefined ? await OscHooks.setUp(bench.portal) : undefined;
  printLine(`Berth's hook compared: ${machine}; medians of interleaved runs`);
  if (missing !== undefined) printLine(`OSC's scripts are not measured: ${missing}`);
  try {
    for (const name of names) {
      const part = benchParts[name];
      if (part === undefined) continue;
      heading(part.title);
      await part.run(bench, osc);
    }
  } finally {
    await bench.close();
  }
}
