/**
 * `npm run bench [PART …]` measures a login next to OSC's scripts with a real kubectl, on the same API server, in the
 * same run, interleaved. Parts: later first many credential clusters namespaces
 * admission.
 */
import '../../scripts/check-node.ts';
import { execa } from 'execa';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureCommand } from '../rig/site/packages.ts';
import { machine } from './measure.ts';
import { oscMissing, Osc } from './osc.ts';
import { openBench } from './bench-portal.ts';
import { parts, usersOf } from './parts.ts';
import { heading, say } from './report.ts';

const inside = 'BERTH_BENCH_INSIDE';

if (process.env[inside] === undefined) {
  // In its own mount namespace, where kubectl is mounted at the path that OSC's scripts use first.
  const words = ['--mount', '--', process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const { exitCode } = await execa('unshare', words, {
    stdio: 'inherit',
    reject: false,
    env: { [inside]: '1' },
  });
  process.exitCode = exitCode ?? 1;
} else {
  await run(process.argv.slice(2));
}

async function run(wanted: readonly string[]): Promise<void> {
  await ensureCommand('time', 'time');
  const names = wanted.length === 0 ? Object.keys(parts) : wanted;
  const bench = await openBench(usersOf(names));
  await writeFile(join(bench.portal.folder, 'empty.js'), '');
  const missing = oscMissing();
  const osc = missing === undefined ? await Osc.setUp(bench.portal) : undefined;
  say(`Berth's hook and its neighbours: ${machine}; medians of runs in turn`);
  if (missing !== undefined) say(`without OSC's scripts: ${missing}`);
  try {
    for (const name of names) {
      const part = parts[name];
      if (part === undefined) throw new Error(`no part ${name}: ${Object.keys(parts).join(', ')}`);
      heading(part.title);
      await part.run(bench, osc);
    }
  } finally {
    await bench.provider.close();
    await bench.portal.remove();
  }
}
