import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../../measure.ts';
import { peakResident } from '../../ssh/processes-of.ts';
import { crowdUser } from '../crowd.ts';
import type { Figure, RecordFigure } from '../figures.ts';
import { HubCrowd, logInAndSpawn, type Spawn } from '../hub-crowd.ts';
import { atEvenIntervals, percentile } from '../login-rate.ts';
import { type OwnCluster, startOwnCluster } from '../own-cluster.ts';
import type { ScalePart } from '../parts.ts';
import { processorSeconds } from '../processor-time.ts';
import { scaled } from '../scaled.ts';
import { StandInKubelet } from '../stand-in-kubelet.ts';

const counts = scaled(50, 200);
const minute = 60_000;
/** In which JupyterHub looks once at each server. */
const restMs = 30_000;

type Size = NonNullable<Figure['size']>;

/**
 * First logins at a JupyterHub, and the start of a server each, at even intervals in a minute. The hub, its proxy,
 * berth-hub.socket, slapd, the API server and the scheduler are real. Simulated is the node: its pods are ready two seconds
 * after the scheduler has bound them, and one HTTP server answers for all.
 */
export const hub: ScalePart = {
  title: 'A JupyterHub, at which so many users start their first server in a minute',
  async run(record) {
    const own = await startOwnCluster();
    const undo: (() => unknown)[] = [() => own.stop()];
    try {
      const kubelet = await StandInKubelet.start(own);
      undo.push(() => kubelet.stop());
      const people = counts.reduce((sum, count) => sum + count, 0);
      const crowd = await HubCrowd.start(own, { count: people, port: kubelet.port });
      undo.push(() => crowd.stop());
      let from = 0;
      for (const count of counts) {
        await spawns(own, crowd, record, { from, count });
        from += count;
      }
      kubelet.check();
    } finally {
      for (const step of undo.toReversed()) await step();
    }
  },
};

async function spawns(
  own: OwnCluster,
  crowd: HubCrowd,
  record: RecordFigure,
  { from, count }: { readonly from: number; readonly count: number },
): Promise<void> {
  const size = { count, of: 'users' };
  const running = await crowd.startHub();
  try {
    const used = async (): Promise<Record<'hub' | 'host' | 'cluster', number>> => ({
      hub: processorSeconds(running.pid),
      host: await crowd.hostSeconds(),
      cluster: own.processes.reduce((sum, { pid }) => sum + processorSeconds(pid), 0),
    });
    const before = await used();
    const users = Array.from({ length: count }, (_, index) => crowdUser(from + index));
    const began = performance.now();
    const done = await atEvenIntervals(users, minute, (user) => logInAndSpawn(running, user));
    const seconds = (performance.now() - began) / 1000;
    const after = await used();
    record({ what: 'all starts', size, value: seconds, unit: 's' });
    recordStarts(record, size, done);
    const made = await crowd.bootstraps();
    record({
      ...{ what: 'requests to make the namespace, of the user with the most', size },
      value: Math.max(...users.map(({ name }) => made.get(name) ?? 0)),
      ...{ unit: '', wanted: { atMost: 1 } },
    });
    for (const [what, name] of processes)
      record({ what, size, value: ((after[name] - before[name]) * 1000) / count, unit: 'ms' });
    const mib = peakResident(running.pid) / 1024;
    record({ what: "the hub's memory", size, value: mib, unit: 'MiB' });
    await atRest(own, record, { size, pid: running.pid });
  } finally {
    await running.stop();
  }
}

function recordStarts(record: RecordFigure, size: Size, starts: readonly Spawn[]): void {
  const failed = starts.filter(({ failure }) => failure !== '');
  if (failed[0] !== undefined) process.stderr.write(`${failed[0].failure}\n`);
  const none = { atMost: 0 };
  record({ what: 'starts that failed', size, value: failed.length, unit: '', wanted: none });
  const times = starts.map(({ ms }) => ms / 1000);
  record({ what: 'a start, median', size, value: median(times), unit: 's' });
  record({ what: 'a start, p99', size, value: percentile(times, 0.99), unit: 's' });
}

const processes = [
  ["the hub's processor time for each", 'hub'],
  ["hub-bootstrap's and systemd's, for login and start", 'host'],
  ["the control plane's, with etcd", 'cluster'],
] as const;

/** What running servers cost the API server and the hub, when nobody starts one. */
async function atRest(
  { site }: OwnCluster,
  record: RecordFigure,
  { size, pid }: { readonly size: Size; readonly pid: number },
): Promise<void> {
  const before = processorSeconds(pid);
  const mark = await site.audit.mark();
  await sleep(restMs);
  const user = 'system:serviceaccount:jupyterhub:hub';
  const requests = (await site.audit.since(mark, { user })).length;
  const share = (processorSeconds(pid) - before) / (restMs / 1000);
  const what = "the hub's requests a second, at rest";
  record({ what, size, value: requests / (restMs / 1000), unit: '' });
  record({ what: "the hub's share of a core, at rest", size, value: share, unit: '' });
}
