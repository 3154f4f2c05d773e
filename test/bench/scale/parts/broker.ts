import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { median } from '../../measure.ts';
import { proportionalSize } from '../../ssh/processes-of.ts';
import { BrokerCrowd } from '../broker-crowd.ts';
import { atEvenIntervals } from '../login-rate.ts';
import type { ScalePart } from '../parts.ts';
import { machineSeconds } from '../processor-time.ts';

/** The wanted 1,000 in a minute take more than this machine has: clients, brokers and the identity provider share its cores. */
const counts = [100, 300, 500];
/** The clients start at even intervals in this time. Milliseconds. */
const minute = 60_000;

/** Users whose tokens expire in the same minute, as after a login at the begin of a course. */
export const broker: ScalePart = {
  title: 'The credential broker, with users whose tokens expire in the same minute',
  async run(record) {
    const crowd = await BrokerCrowd.start(Math.max(...counts));
    try {
      for (const count of counts) {
        const users = await crowd.expired(count);
        crowd.provider.requests.length = 0;
        const slice = watchSlice(crowd.host.directory);
        const busy = machineSeconds();
        const answers = await atEvenIntervals(users, minute, async (uid) => {
          const started = performance.now();
          const error = await crowd.ask(uid);
          return { error, wall: performance.now() - started };
        });
        const { mib, processes } = slice.stop();
        const processorTime = machineSeconds() - busy;
        const failed = answers.filter(({ error }) => error !== '');
        if (failed[0] !== undefined) process.stderr.write(`${failed[0].error}\n`);
        const walls = answers.map(({ wall }) => wall);
        const asked = crowd.provider.requests.filter((one) => one === 'POST /token').length;
        const size = { count, of: 'users' };
        record({
          what: 'users without a token',
          size,
          value: failed.length,
          unit: '',
          wanted: { atMost: 0 },
        });
        record({
          what: 'requests for tokens, for each user',
          size,
          value: asked / count,
          unit: '',
          wanted: { atMost: 1 },
        });
        record({
          what: 'memory of all brokers',
          size,
          value: mib,
          unit: 'MiB',
          wanted: { atMost: 1024 },
        });
        record({ what: 'processes of the brokers at once', size, value: processes, unit: '' });
        record({
          what: 'processor time for each user: kube-credential, broker, provider',
          ...{ size, value: (processorTime / count) * 1000, unit: 'ms' },
        });
        record({ what: 'kube-credential, the median', size, value: median(walls), unit: 'ms' });
        record({
          what: 'the slowest kube-credential',
          size,
          value: Math.max(...walls),
          unit: 'ms',
        });
      }
    } finally {
      await crowd.stop();
    }
  },
};

interface Peak {
  /** Proportional set sizes of all processes together. */
  readonly mib: number;
  readonly processes: number;
}

/** Watches what runs in berth-broker.slice, four times a second. `stop` returns the largest values. */
function watchSlice(hostDirectory: string): { stop(): Peak } {
  const cgroup = readFileSync(join(hostDirectory, 'cgroup'), 'utf8').trim();
  const slice = join('/sys/fs/cgroup/unified', cgroup, 'berth.slice/berth-broker.slice');
  const peak = { mib: 0, processes: 0 };
  const timer = setInterval(() => {
    const pids = pidsBelow(slice);
    const kib = pids.reduce((sum, pid) => sum + proportionalSize(pid), 0);
    peak.mib = Math.max(peak.mib, kib / 1024);
    peak.processes = Math.max(peak.processes, pids.length);
  }, 250);
  return {
    stop: () => {
      clearInterval(timer);
      if (peak.processes === 0) throw new Error(`no process was seen in ${slice}`);
      return peak;
    },
  };
}

/** The processes of the services in a slice. */
function pidsBelow(slice: string): number[] {
  try {
    return readdirSync(slice)
      .filter((name) => name.endsWith('.service'))
      .flatMap((name) => readProcs(join(slice, name, 'cgroup.procs')));
  } catch {
    // systemd makes the slice with its first service.
    return [];
  }
}

function readProcs(file: string): number[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    // The service has ended meanwhile.
    return [];
  }
}
