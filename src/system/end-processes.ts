import { setTimeout as sleep } from 'node:timers/promises';
import { isErrno } from '../errors.ts';
import { isRunning, type ProcessId } from './processes.ts';

/** Signals in their order, each with the milliseconds that the processes then have. */
export type Escalation = readonly (readonly [signal: NodeJS.Signals, waitMs: number])[];

/** As a terminal that is closed, as a shutdown, and then for good. */
export const escalation: Escalation = [
  ['SIGHUP', 400],
  ['SIGTERM', 1_000],
  ['SIGKILL', 2_000],
];

export interface Ended {
  /** How many are gone that were there. */
  readonly ended: number;
  /** How many stayed: they hang in the kernel, or came in faster than they were ended. */
  readonly left: number;
}

const everyMs = 20;

/**
 * Ends processes. `find` is asked anew before each signal and while waiting, so that children that
 * come meanwhile do not get away; from the last signal on, it is sent at every look.
 */
export async function endProcesses(
  find: () => readonly ProcessId[],
  steps: Escalation = escalation,
): Promise<Ended> {
  const seen = new Map<string, ProcessId>();
  for (const [index, [signal, waitMs]] of steps.entries()) {
    const end = performance.now() + waitMs;
    const sent = new Set<string>();
    for (;;) {
      const found = find();
      if (found.length === 0) return ended(seen);
      for (const process of found) {
        const key = keyOf(process);
        seen.set(key, process);
        if (sent.has(key) && index < steps.length - 1) continue;
        sent.add(key);
        signalProcess(process, signal);
      }
      if (performance.now() > end) break;
      await sleep(everyMs);
    }
  }
  return ended(seen, find());
}

/** @param now What was found last: also who came meanwhile. */
function ended(seen: ReadonlyMap<string, ProcessId>, now: readonly ProcessId[] = []): Ended {
  const left = new Set([...[...seen.values()].filter(isRunning), ...now].map(keyOf));
  const stay = [...seen.keys()].filter((key) => left.has(key)).length;
  return { ended: seen.size - stay, left: left.size };
}

function keyOf({ pid, start }: ProcessId): string {
  return `${pid}.${start}`;
}

/** Never a process that got the number later, as far as can be told without pidfd_send_signal(2). */
export function signalProcess(process_: ProcessId, signal: NodeJS.Signals): void {
  if (process_.pid <= 1 || !isRunning(process_)) return;
  try {
    process.kill(process_.pid, signal);
  } catch (error) {
    if (!isErrno(error, 'ESRCH')) throw error;
  }
}
