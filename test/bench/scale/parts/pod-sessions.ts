import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from '../../measure.ts';
import { closeIdle, idleWords, openIdle } from '../../ssh/pod-idle.ts';
import { whileConnected } from '../../ssh/pod-logins.ts';
import { openPods, type PodNodes } from '../../ssh/pods.ts';
import { type MemoryParts, memoryParts, processesOf } from '../../ssh/processes-of.ts';
import type { RecordFigure } from '../figures.ts';
import type { ScalePart } from '../parts.ts';

const allCounts = [50, 100, 200, 500];
/** The node, on the same cores, does not stay Ready with more sessions of both kinds in one pod. */
const comparedCounts = [50, 100, 200];
/** After the last session of a round has begun. */
const settleMs = 10_000;

/** Sessions at rest in a pod, all through one login node, next to a forced `kubectl exec` there. */
export const podSessions: ScalePart = {
  title: 'Sessions at rest in pods, on one login node',
  async run(record) {
    const pods = await openPods();
    try {
      // Another session keeps the pod.
      await whileConnected(pods.berth(...idleWords), () => compare(pods, record));
    } finally {
      await pods.stop();
    }
  },
};

async function compare({ uid, ...pods }: PodNodes, record: RecordFigure): Promise<void> {
  const kubectl = await grow({ uid, name: 'kubectl exec', counts: comparedCounts, record }, () =>
    pods.kubectl(...idleWords),
  );
  const berth = await grow({ uid, name: 'berth', counts: allCounts, record }, () =>
    pods.berth(...idleWords),
  );
  for (const [index, count] of comparedCounts.entries())
    record({
      what: 'memory of a session, divided by that of kubectl exec',
      size: { count, of: 'sessions' },
      value: (berth[index]?.all ?? Number.NaN) / (kubectl[index]?.all ?? Number.NaN),
      ...{ unit: '', wanted: { atMost: 1 } },
    });
}

/** Opens more and more sessions, and measures the processes at the local end. @returns each session's memory, by count */
async function grow(
  {
    uid,
    name,
    counts,
    record,
  }: {
    readonly uid: number;
    readonly name: string;
    readonly counts: readonly number[];
    readonly record: RecordFigure;
  },
  command: () => Command,
): Promise<MemoryParts[]> {
  const others = new Set(processesOf(uid));
  const clients: ChildProcess[] = [];
  const found: MemoryParts[] = [];
  try {
    for (const count of counts) {
      clients.push(...(await openIdle(count - clients.length, command)));
      // Sessions that last return the memory of their start.
      await sleep(settleMs);
      const relays = processesOf(uid)
        .filter((pid) => !others.has(pid))
        .map(memoryParts);
      const each = (part: keyof MemoryParts): number =>
        relays.reduce((sum, one) => sum + one[part], 0) / 1024 / clients.length;
      const parts = { all: each('all'), anonymous: each('anonymous'), files: each('files') };
      const size = { count, of: 'sessions' };
      record({ what: `${name}: memory of a session`, size, value: parts.all, unit: 'MiB' });
      record({
        what: `${name}: heaps and stacks of it`,
        size,
        value: parts.anonymous,
        unit: 'MiB',
      });
      record({ what: `${name}: shared pages of files`, size, value: parts.files, unit: 'MiB' });
      found.push(parts);
    }
  } finally {
    await closeIdle(clients);
  }
  return found;
}
