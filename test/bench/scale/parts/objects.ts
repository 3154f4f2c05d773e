import { readFile } from 'node:fs/promises';
import { openBench } from '../../bench-portal.ts';
import { hookCommand } from '../../logins.ts';
import { measure } from '../../measure.ts';
import { send } from '../../../rig/site/https.ts';
import { startOwnCluster, type OwnCluster } from '../own-cluster.ts';
import type { ScalePart } from '../parts.ts';

const user = 'bench-later';

/** What a user's namespace takes in etcd. */
export const objects: ScalePart = {
  title: 'Objects of a user in etcd, without sessions',
  async run(record) {
    const own = await startOwnCluster();
    const bench = await openBench([user], own.site);
    try {
      await measure(await hookCommand(bench, user)());
      const kinds = await storedObjects(own, `u-${user}`);
      for (const [kind, sizes] of kinds)
        record({ what: `${sizes.length} × ${kind}`, value: sum(sizes), unit: 'bytes' });
      const all = [...kinds.values()].flat();
      record({ what: 'objects of a user', value: all.length, unit: 'objects' });
      record({ what: 'all of them', value: sum(all), unit: 'bytes' });
    } finally {
      await bench.close();
      await own.stop();
    }
  },
};

/** Sizes of the values in etcd whose keys name the namespace, by kind. Bytes. */
async function storedObjects(
  { site, etcdPort }: OwnCluster,
  namespace: string,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const { cert, key } = site.record.serverCertificate;
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const { status, text } = await send(`https://127.0.0.1:${etcdPort}/v3/kv/range`, {
    method: 'POST',
    body: JSON.stringify({ key: base64('/registry/'), range_end: base64('/registry0') }),
    ca: site.ca.pem,
    client: { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') },
    timeoutMs: 60_000,
  });
  if (status !== 200) throw new Error(`etcd answers ${status}: ${text.slice(0, 200)}`);
  const { kvs } = JSON.parse(text) as { kvs: readonly { key: string; value: string }[] };
  const entries = kvs.map((one) => ({
    path: Buffer.from(one.key, 'base64').toString(),
    size: Buffer.from(one.value, 'base64').length,
  }));
  const own = entries.filter(({ path }) => path.split('/').includes(namespace));
  const kindOf = (path: string): string => path.split('/')[2] ?? path;
  return new Map(
    [...Map.groupBy(own, ({ path }) => kindOf(path))].map(([kind, stored]) => [
      kind,
      stored.map(({ size }) => size),
    ]),
  );
}

const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);
