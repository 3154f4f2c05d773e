import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { reapCluster } from '../../../../src/clusters/reap/reap-cluster.ts';
import { installBerth, installDirectory } from '../../../rig/site/portal.ts';
import { openSite } from '../../../rig/site/site.ts';
import { TimerHost } from '../../../rig/site/timer-host.ts';
import { type Command, measure } from '../../measure.ts';
import type { RecordFigure } from '../figures.ts';
import { type OwnCluster, startOwnCluster } from '../own-cluster.ts';
import type { ScalePart } from '../parts.ts';
import { jobsFrom, namespacesFrom, podsFrom } from '../reap-crowd.ts';
import { requestsOf } from '../requests-of.ts';
import { scaled } from '../scaled.ts';

const account = 'berth-reaper';
const memory = { atMost: 200 };
/** That of src/kube/list-all.ts. */
const pageSize = 200;
const podsPerNamespace = 1.5;

/** What was made so far. */
interface Crowd {
  namespaces: number;
  pods: number;
}

/**
 * `berth clusters reap` with the pods of many users. The pods wait for a scheduler, which the reaper does not
 * distinguish from running; the objects of the hook, which it does not read, are left out. Nobody can make a namespace
 * that is an hour old, so unused ones are deleted by the same code in this process, as if two seconds were long.
 */
export const reap: ScalePart = {
  title: '`berth clusters reap`, one and a half pods for each namespace',
  async run(record) {
    // A site that is started removes what was installed before.
    await openSite();
    await installBerth();
    const own = await startOwnCluster();
    let host: TimerHost | undefined;
    try {
      host = await TimerHost.create(own.site, {
        name: 'scale-reap',
        account,
        components: ['reaper'],
      });
      const crowd: Crowd = { namespaces: 0, pods: 0 };
      for (const count of scaled(2_000, 10_000, 20_000)) {
        await grow(own, crowd, count);
        await dryRun(own, host, count, record);
      }
      await sideBySide(own, host, crowd, record);
      await unusedNamespaces(own, host, crowd, record);
    } finally {
      await host?.remove();
      await own.stop();
    }
  },
};

async function grow(own: OwnCluster, crowd: Crowd, count: number): Promise<void> {
  const now = Date.now() / 1000;
  await own.load.createAll('namespaces', namespacesFrom(crowd.namespaces, count, now));
  await own.controllersDone(`u-crowd${count - 1}`);
  const pods = Math.ceil(count * podsPerNamespace);
  await own.load.createAll(
    'pods',
    podsFrom(crowd.pods, pods, { namespaces: count, lifetime: '24h' }),
  );
  Object.assign(crowd, { namespaces: count, pods });
}

async function dryRun(
  { site }: OwnCluster,
  host: TimerHost,
  count: number,
  record: RecordFigure,
): Promise<void> {
  const size = { count, of: 'namespaces' };
  const mark = await site.audit.mark();
  const { wall, rss } = await measure(reapCommand(host, '--dry-run', '--unused-after', '1h'));
  const requests = requestsOf(await site.audit.since(mark), account);
  record({ what: 'a dry run: time', size, value: wall / 1000, unit: 's' });
  record({ what: 'a dry run: memory', size, value: rss / 1024, unit: 'MiB', wanted: memory });
  const lists = requests.get('list pods') ?? 0;
  // All pods for their lifetimes, and those that have not ended for the unused namespaces.
  const pages = 2 * Math.ceil((count * podsPerNamespace) / pageSize);
  record({
    what: 'a dry run: pages of pods',
    size,
    value: lists,
    unit: 'requests',
    wanted: { atMost: pages },
  });
  const all = [...requests.values()].reduce((sum, one) => sum + one, 0);
  record({ what: 'a dry run: requests', size, value: all, unit: 'requests' });
}

/** Two reapers at once, with many pods past their lifetime. */
async function sideBySide(
  { site, load }: OwnCluster,
  host: TimerHost,
  { namespaces, pods }: Crowd,
  record: RecordFigure,
): Promise<void> {
  const [expired = 0] = scaled(1_000);
  const jobs = jobsFrom(pods, pods + expired, { namespaces, lifetime: '1s' });
  await load.createAll('objects of jobs', jobs);
  const size = { count: namespaces, of: 'namespaces' };
  const mark = await site.audit.mark();
  const both = await Promise.all([
    measure(reapCommand(host, '--max-pods', '0', '--unused-after', '1h')),
    measure(reapCommand(host, '--max-pods', '0', '--unused-after', '1h')),
  ]);
  const events = await site.audit.since(mark);
  const requests = requestsOf(events, account);
  const slower = Math.max(...both.map(({ wall }) => wall));
  const what = `a run that ends ${expired} jobs`;
  record({ what: `${what}: time`, size, value: slower / 1000, unit: 's' });
  const rss = Math.max(...both.map((one) => one.rss));
  record({ what: `${what}: memory`, size, value: rss / 1024, unit: 'MiB', wanted: memory });
  const deletions = events.filter(
    ({ verb, objectRef }) => verb === 'delete' && objectRef?.resource === 'pods',
  );
  const first = Math.min(...deletions.map(({ requestReceivedTimestamp: at }) => Date.parse(at)));
  const last = Math.max(...deletions.map(({ stageTimestamp: at }) => Date.parse(at)));
  const rate = deletions.length / ((last - first) / 1000);
  record({ what: 'jobs ended in a second, one after the other', size, value: rate, unit: 'jobs' });
  record({
    what: 'a job: requests',
    value:
      [...requests]
        .filter(([key]) => !key.startsWith('list '))
        .reduce((sum, [, count]) => sum + count, 0) / expired,
    unit: 'requests',
  });
  const named = new Set(deletions.map(({ requestURI }) => requestURI));
  if (named.size !== expired) throw new Error(`${named.size} of ${expired} pods were deleted`);
  const twice = { value: deletions.length - named.size, unit: 'pods', wanted: { atMost: 0 } };
  record({ what: 'two reapers side by side: pods deleted by both', size, ...twice });
  const pages = 2 * Math.ceil((pods + expired) / pageSize);
  record({
    what: 'two reapers side by side: pages of pods',
    size,
    value: requests.get('list pods') ?? 0,
    unit: 'requests',
    wanted: { atMost: pages },
  });
}

async function unusedNamespaces(
  { site, load, controllersDone }: OwnCluster,
  host: TimerHost,
  { namespaces }: Crowd,
  record: RecordFigure,
): Promise<void> {
  const [unused = 0] = scaled(500);
  await load.createAll(
    'namespaces',
    namespacesFrom(namespaces, namespaces + unused, 1_700_000_000),
  );
  await controllersDone(`u-crowd${namespaces + unused - 1}`);
  const { users } = parse(await readFile(host.kubeconfig, 'utf8')) as {
    readonly users: readonly [{ readonly user: { readonly token: string } }];
  };
  const server = { url: site.server, ca: site.ca.pem, token: users[0].user.token };
  const started = performance.now();
  const reaped = await reapCluster(
    { name: 'prod', reach: () => Promise.resolve(server) },
    {
      ...{ dryRun: false, podSelector: 'no=pod', maxPods: 0 },
      namespaceSelector: 'app.kubernetes.io/name=open-ondemand',
      unused: { after: 2, lastLogin: 3_600, max: 0, deleteClaims: false },
      deadline: AbortSignal.timeout(300_000),
    },
  );
  const seconds = (performance.now() - started) / 1000;
  const [failure] = reaped.failed;
  if (failure !== undefined) throw failure;
  if (reaped.namespaces.deleted.length !== unused)
    throw new Error(`${reaped.namespaces.deleted.length} of ${unused} namespaces were deleted`);
  const size = { count: namespaces, of: 'namespaces' };
  record({
    what: `a run that deletes ${unused} unused namespaces: time`,
    size,
    value: seconds,
    unit: 's',
  });
}

function reapCommand({ config }: TimerHost, ...more: string[]): Command {
  const args = ['clusters', 'reap', '--config', config, '--cluster', 'prod', ...more];
  const env = { PATH: '/usr/bin:/bin', HOME: '/root', LANG: 'C.UTF-8' };
  return { file: join(installDirectory, 'berth'), args, env };
}
