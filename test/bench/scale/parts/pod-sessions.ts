import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from '../../measure.ts';
import { closeIdle, idleWords, openIdle } from '../../ssh/pod-idle.ts';
import { whileConnected } from '../../ssh/pod-logins.ts';
import { openPods, type PodNodes } from '../../ssh/pods.ts';
import { type MemoryParts, memoryParts, processesOf } from '../../ssh/processes-of.ts';
import type { RecordFigure } from '../figures.ts';
import type { ScalePart } from '../parts.ts';

const counts = [50, 100, 200, 500];
/** After the last session of a round has begun. */
const settleMs = 10_000;

/** Sessions at rest in a pod, all through one login node, next to a forced `kubectl exec` there. */
export const podSessions: ScalePart = {
  title: 'Sessions at rest in pods, on one login node',
  async run(record) {
    const pods = await openPods();
    try {
      await whileConnected(withoutSession(pods.berth()), () => compare(pods, record));
    } finally {
      await pods.stop();
    }
  },
};

/** A connection that keeps the pod, and has no process of ours on the login node. */
function withoutSession({ args, ...command }: Command): Command {
  const says = ['-o', 'PermitLocalCommand=yes', '-o', 'LocalCommand=echo connected'];
  return { ...command, args: ['-N', ...says, ...args] };
}

async function compare({ uid, ...pods }: PodNodes, record: RecordFigure): Promise<void> {
  const berth = await grow({ uid, name: 'berth', record }, () => pods.berth(...idleWords));
  const kubectl = await grow({ uid, name: 'kubectl exec', record }, () =>
    pods.kubectl(...idleWords),
  );
  for (const [index, count] of counts.entries())
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
    record,
  }: { readonly uid: number; readonly name: string; readonly record: RecordFigure },
  command: () => Command,
): Promise<MemoryParts[]> {
  const clients: ChildProcess[] = [];
  const found: MemoryParts[] = [];
  try {
    for (const count of counts) {
      clients.push(...(await openIdle(count - clients.length, command)));
      // Sessions that last return the memory of their start.
      await sleep(settleMs);
      const relays = processesOf(uid).map(memoryParts);
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
