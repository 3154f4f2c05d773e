import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { hookOf, warmUp } from './logins.ts';
import { median, type Sample } from './measure.ts';
import type { Part } from './parts.ts';
import type { Bench } from './portal-of-bench.ts';
import { say, ratio } from './report.ts';
import { spawnSync } from 'node:child_process';

const counts = [1, 10, 100];
const runs = 11;

/** Nothing listens there: the first dynamic port is never given to a server of the tests. */
const nowhere = 'https://127.0.0.1:1';

export const clusterScale: Part = {
  title: 'Clusters configured, one of them reachable',
  users: ['bench-later'],
  async run(bench) {
    await addContext(bench);
    const walls = new Map<number, number>();
    for (const count of counts) {
      for (let index = 1; index < count; index += 1)
        await bench.portal.writeCluster(`dead${index}`, { server: { endpoint: nowhere } });
      await warmUp(bench, undefined).catch(() => undefined);
      const samples: Pick<Sample, 'wall'>[] = [];
      for (let run = 0; run < runs; run += 1) {
        const { file, args, env } = await hookOf(bench, 'bench-later')();
        const started = performance.now();
        spawnSync(file, args, { env, cwd: '/', stdio: 'ignore' });
        samples.push({ wall: performance.now() - started });
      }
      walls.set(count, median(samples.map(({ wall }) => wall)));
      say(`${String(count).padStart(4)} clusters: ${walls.get(count)?.toFixed(1)} ms`);
    }
    for (let index = 1; index < 100; index += 1)
      await rm(join(bench.portal.files.clustersDir, `dead${index}.yml`));
    const [one = 1] = walls.values();
    for (const count of counts.slice(1))
      ratio(`${count} clusters, of one`, (walls.get(count) ?? 0) / one, { atMost: 1.25 });
  },
};

/** Root's kubeconfig gets a context that leads to where no cluster is. */
async function addContext({ portal }: Bench): Promise<void> {
  const file = portal.files.kubeconfig;
  const config = parse(await readFile(file, 'utf8')) as Record<'clusters' | 'contexts', object[]>;
  config.clusters.push({ name: 'nowhere', cluster: { server: nowhere } });
  config.contexts.push({ name: 'nowhere', context: { cluster: 'nowhere', user: 'berth-hook' } });
  await writeFile(file, stringify(config), { mode: 0o600 });
}
