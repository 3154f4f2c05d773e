/**
 * `npm run bench -- [PART …] [--check | --save]`: measures portal logins, in turn with OSC's scripts and kubectl on the same API
 * server. Parts: later first many credential clusters namespaces admission. With `--check` it fails if a figure is worse than the one
 * in docs/performance.json by more than both runs vary; `--save` writes them there.
 */
import '../../scripts/check-node.ts';
import { execa } from 'execa';
import { ensureCommand } from '../rig/site/debian-packages.ts';
import { machine } from './measure.ts';
import { whyOscIsMissing, OscHooks } from './osc.ts';
import { openBench } from './bench-portal.ts';
import { benchParts, usersOf } from './parts.ts';
import { checkedFigures, heading, printLine } from './report.ts';
import { benchArguments, checkOrSave } from './saved-performance.ts';

const inside = 'BERTH_BENCH_INSIDE';

if (process.env[inside] === undefined) {
  // Run again in a new mount namespace, in which kubectl is mounted at /usr/local/bin for OSC's scripts.
  const args = ['--mount', '--', process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const { exitCode } = await execa('unshare', args, {
    stdio: 'inherit',
    reject: false,
    env: { [inside]: '1' },
  });
  process.exitCode = exitCode ?? 1;
} else {
  const wanted = benchArguments(process.argv.slice(2));
  await run(wanted.parts);
  process.exitCode = await checkOrSave(checkedFigures(), wanted);
}

async function run(wanted: readonly string[]): Promise<void> {
  await ensureCommand('time', 'time');
  const names = wanted.length === 0 ? Object.keys(benchParts) : wanted;
  const bench = await openBench(usersOf(names));
  const missing = whyOscIsMissing();
  const osc = missing === undefined ? await OscHooks.setUp(bench.portal) : undefined;
  printLine(`Berth's hook compared: ${machine}; medians of interleaved runs`);
  if (missing !== undefined) printLine(`OSC's scripts are not measured: ${missing}`);
  try {
    for (const name of names) {
      const part = benchParts[name];
      if (part === undefined)
        throw new Error(`there is no part ${name}; parts: ${Object.keys(benchParts).join(', ')}`);
      heading(part.title);
      await part.run(bench, osc);
    }
  } finally {
    await bench.close();
  }
}
