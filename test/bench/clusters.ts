import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { hookCommand, warmUp } from './logins.ts';
import { median } from './measure.ts';
import type { BenchPart } from './parts.ts';
import type { Bench } from './bench-portal.ts';
import { printLine, checkBound } from './report.ts';
import { spawnSync } from 'node:child_process';

const counts = [1, 10, 100];
const runs = 11;

/** A URL whose port is closed. */
const unreachable = 'https://127.0.0.1:1';

export const clusterScale: BenchPart = {
  title: 'Configured clusters, of which one is reachable',
  users: ['bench-later'],
  async run(bench) {
    await addContext(bench);
    const walls = new Map<number, number>();
    for (const count of counts) {
      for (let index = 1; index < count; index += 1)
        await bench.portal.writeCluster(`dead${index}`, { server: { endpoint: unreachable } });
      await warmUp(bench, undefined).catch(() => undefined);
      walls.set(count, await wall(bench));
      printLine(`${String(count).padStart(4)} clusters: ${walls.get(count)?.toFixed(1)} ms`);
    }
    const asking = await wall(bench, () =>
      rm(join(bench.portal.files.stateDir, backoffFile), { force: true }),
    );
    for (let index = 1; index < 100; index += 1)
      await rm(join(bench.portal.files.clustersDir, `dead${index}.yml`));
    const [one = 1] = walls.values();
    printLine(
      `the one login in 30 s that connects to all of them: ${(asking / one).toFixed(2)} times as long as with one cluster`,
    );
    for (const count of counts.slice(1))
      checkBound(
        `${count} clusters compared with one`,
        { value: (walls.get(count) ?? 0) / one },
        { atMost: 1.25 },
      );
  },
};

/** The hook's record of unreachable clusters; without it, the hook connects to all. */
const backoffFile = 'silent-clusters.json';

/** Median time of a later login in milliseconds. */
async function wall(
  bench: Bench,
  before = (): Promise<void> => Promise.resolve(),
): Promise<number> {
  const samples: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const { file, args, env } = await hookCommand(bench, 'bench-later')();
    await before();
    const started = performance.now();
    spawnSync(file, args, { env, cwd: '/', stdio: 'ignore' });
    samples.push(performance.now() - started);
  }
  return median(samples);
}

/** Adds a context for the unreachable clusters to root's kubeconfig. */
async function addContext({ portal }: Bench): Promise<void> {
  const file = portal.files.kubeconfig;
  const config = parse(await readFile(file, 'utf8')) as Record<'clusters' | 'contexts', object[]>;
  config.clusters.push({ name: 'nowhere', cluster: { server: unreachable } });
  config.contexts.push({ name: 'nowhere', context: { cluster: 'nowhere', user: 'berth-hook' } });
  await writeFile(file, stringify(config), { mode: 0o600 });
}
