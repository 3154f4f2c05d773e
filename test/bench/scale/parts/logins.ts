import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { hookRequests } from '../../../rig/site/hook-requests.ts';
import { LatencyProxy } from '../../../rig/site/latency-proxy.ts';
import { type Bench, openBench } from '../../bench-portal.ts';
import { hookCommand } from '../../logins.ts';
import { type Command, median } from '../../measure.ts';
import type { RecordFigure } from '../figures.ts';
import { loginsAtRate, percentile } from '../login-rate.ts';
import { type OwnCluster, startOwnCluster } from '../own-cluster.ts';
import type { ScalePart } from '../parts.ts';
import { childrenSeconds, processorSeconds } from '../processor-time.ts';

/** Users that have logged in before, and users that have not. */
const accounts = { old: 40, fresh: 40 };
/** Logins a second; the wanted 20 need more cores than the hook and ten clusters' API server have here. */
const rates = [1, 2, 4];
const seconds = 60;
const slowMs = 150;

const oldUsers = Array.from({ length: accounts.old }, (_, index) => `bench-many${index + 1}`);
const newUsers = Array.from({ length: accounts.fresh }, (_, index) => `bench-many${index + 101}`);

/**
 * Logins of new and old users at a fixed rate, on ten clusters: eight answer, one refuses connections, one is 150 ms
 * away. The nine that answer are one API server with nine prefixes of namespaces, on the machine of the hook.
 */
export const logins: ScalePart = {
  title: 'Logins at a fixed rate, on ten clusters of which one is dead and one slow',
  async run(record) {
    const own = await startOwnCluster();
    const bench = await openBench([...oldUsers, ...newUsers], own.site);
    const slow = await LatencyProxy.open(new URL(own.site.server), slowMs / 2);
    try {
      await tenClusters(bench, slow.url);
      for (const user of oldUsers) await loginsAtRate(1, [await hookCommand(bench, user)()]);
      for (const [round, rate] of rates.entries()) await crowd(bench, own, record, { rate, round });
    } finally {
      await slow.close();
      await bench.close();
      await own.stop();
    }
  },
};

async function crowd(
  bench: Bench,
  own: OwnCluster,
  record: RecordFigure,
  { rate, round }: { readonly rate: number; readonly round: number },
): Promise<void> {
  // In each round some users are new.
  const each = Math.floor(newUsers.length / rates.length);
  const fresh = newUsers.slice(round * each, (round + 1) * each);
  const count = rate * seconds;
  const users = Array.from({ length: count }, (_, index) => {
    const every = Math.floor(count / fresh.length);
    const isNew = index % every === 0 && index / every < fresh.length;
    return (isNew ? fresh[index / every] : oldUsers[index % oldUsers.length]) ?? '';
  });
  const commands: Command[] = [];
  for (const user of users) commands.push(await hookCommand(bench, user)());
  const mark = await bench.site.audit.mark();
  const api = own.processes.find(({ name }) => name === 'kube-apiserver');
  if (api === undefined) throw new Error('there is no API server');
  const before = { hook: childrenSeconds(), api: processorSeconds(api.pid) };
  const { logins: done, widest } = await loginsAtRate(rate, commands);
  const hook = childrenSeconds() - before.hook;
  const size = { count: rate, of: 'logins a second' };
  const times = done.map(({ ms }) => ms);
  // 75: the dead cluster was asked, which one login in 30 s does.
  const failed = done.filter(({ exitCode }) => exitCode !== 0 && exitCode !== 75).length;
  record({ what: 'failed logins', size, value: failed, unit: 'logins', wanted: { atMost: 0 } });
  const unmade = await missingNamespaces(bench, fresh);
  record({ what: 'namespaces not made', size, value: unmade, unit: '', wanted: { atMost: 0 } });
  record({ what: 'a login, median', size, value: median(times), unit: 'ms' });
  const p99 = percentile(times, 0.99);
  record({ what: 'a login, p99', size, value: p99, unit: 'ms', wanted: { atMost: 1_000 } });
  record({ what: 'logins at the same time', size, value: widest, unit: 'logins' });
  const perLogin = (hook / count) * 1000;
  record({ what: "the hook's processor time for a login", size, value: perLogin, unit: 'ms' });
  const server = (processorSeconds(api.pid) - before.api) / count;
  record({ what: "the API server's for a login", size, value: server * 1000, unit: 'ms' });
  const requests = (await hookRequests(bench.portal, mark)).length / count;
  record({ what: 'requests of a login', size, value: requests, unit: 'requests' });
}

/** How many of the users' namespaces a cluster that answers does not have. */
async function missingNamespaces({ site }: Bench, users: readonly string[]): Promise<number> {
  const { stdout } = await site.kubectl(['get', 'namespaces', '-o', 'name']);
  const made = new Set(stdout.split('\n'));
  const wanted = users.flatMap((user) => answering.map((name) => `namespace/${name}-${user}`));
  return wanted.filter((name) => !made.has(name)).length;
}

/** The clusters but `c8`, where nobody listens. */
const answering = [0, 1, 2, 3, 4, 5, 6, 7, 9].map((number) => `c${number}`);

async function tenClusters({ portal, site }: Bench, slow: string): Promise<void> {
  await rm(join(portal.files.clustersDir, 'prod.yml'));
  const hookEnv = await readFile(portal.files.hookEnv, 'utf8');
  await writeFile(portal.files.hookEnv, hookEnv.replace(/^NAMESPACE_PREFIX=.*\n/m, ''));
  const config = parse(await readFile(portal.files.kubeconfig, 'utf8')) as Record<
    'clusters' | 'contexts' | 'users',
    { name: string; cluster: object }[]
  >;
  const dead = 'https://127.0.0.1:1';
  const servers = [...Array.from({ length: 8 }, () => site.server), dead, slow];
  const [user] = config.users;
  const clusters = servers.map((server, index) => ({ name: `c${index}`, server }));
  for (const { name, server } of clusters)
    await portal.writeCluster(name, {
      server: { endpoint: server, cert_authority_file: site.ca.file },
      namespace_prefix: `${name}-`,
    });
  await writeFile(
    portal.files.kubeconfig,
    stringify({
      ...config,
      clusters: clusters.map(({ name, server }) => ({
        name,
        cluster: { server, 'certificate-authority': site.ca.file },
      })),
      contexts: clusters.map(({ name }) => ({
        name,
        context: { cluster: name, user: user?.name },
      })),
    }),
    { mode: 0o600 },
  );
}
