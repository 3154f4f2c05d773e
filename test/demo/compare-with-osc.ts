import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runInterleaved, measure, medians } from '../bench/measure.ts';
import { OscHooks, whyOscIsMissing } from '../bench/osc.ts';
import { openBench } from '../bench/bench-portal.ts';
import { ensureCommand } from '../rig/site/debian-packages.ts';

/**
 * A separate program, which must run in its own mount namespace, since kubectl is mounted at /usr/local/bin for
 * OSC's scripts. Measures later logins in turn and prints the medians of their wall times in milliseconds as
 * JSON.
 */
const users = { berth: 'demo-berth', osc: 'demo-osc' };
const runs = 5;
/** The settings cache does not trust files that were changed less than this many milliseconds ago. */
const settledMs = 2_500;

await ensureCommand('time', 'time');
const bench = await openBench(Object.values(users));
try {
  await writeFile(join(bench.portal.directory, 'empty.js'), '');
  const osc = whyOscIsMissing() === undefined ? await OscHooks.setUp(bench.portal) : undefined;
  const tokens = { berth: await bench.tokens(users.berth), osc: await bench.tokens(users.osc) };
  const hook = bench.hook(users.berth, tokens.berth);
  const scripts = osc?.command(bench.portal, users.osc, tokens.osc);
  await sleep(settledMs);
  for (let run = 0; run < 2; run += 1) {
    await measure(hook);
    if (scripts !== undefined) await measure(scripts);
  }
  const samples = await runInterleaved<'berth' | 'node' | 'osc'>(runs, {
    berth: () => Promise.resolve(hook),
    node: () => Promise.resolve(bench.bareNode()),
    ...(scripts === undefined ? {} : { osc: () => Promise.resolve(scripts) }),
  });
  const wall = Object.entries(samples).map(([name, taken]) => [name, medians(taken).wall]);
  process.stdout.write(JSON.stringify({ runs, ...Object.fromEntries(wall) }));
} finally {
  await bench.provider.stopListening();
  await bench.portal.remove();
}
