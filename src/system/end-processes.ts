import { setTimeout as sleep } from 'node:timers/promises';
import { isErrno } from '../errors.ts';
import { isRunning, type ProcessId } from './processes.ts';

/** Signals in order, each with the time that the processes then have to end, in milliseconds. */
export type SignalSteps = readonly (readonly [signal: NodeJS.Signals, waitMs: number])[];

/** First as when a terminal is closed, then as at a shutdown, then SIGKILL. */
export const signalSteps: SignalSteps = [
  ['SIGHUP', 400],
  ['SIGTERM', 1_000],
  ['SIGKILL', 2_000],
];

export interface EndResult {
  /** How many processes have ended. */
  readonly ended: number;
  /** How many remain: they hang in the kernel, or are started faster than they are ended. */
  readonly left: number;
}

const everyMs = 20;

/**
 * Ends processes. `find` is called before each signal and while waiting, so that new children are found too. The last
 * signal is sent at each call.
 */
export async function endProcesses(
  find: () => readonly ProcessId[],
  steps: SignalSteps = signalSteps,
): Promise<EndResult> {
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

/** @param now the processes that were found last, including new ones */
function ended(seen: ReadonlyMap<string, ProcessId>, now: readonly ProcessId[] = []): EndResult {
  const left = new Set([...[...seen.values()].filter(isRunning), ...now].map(keyOf));
  const stay = [...seen.keys()].filter((key) => left.has(key)).length;
  return { ended: seen.size - stay, left: left.size };
}

function keyOf({ pid, start }: ProcessId): string {
  return `${pid}.${start}`;
}

/** Sends a signal, but not to a later process with the same PID, as far as possible without pidfd_send_signal(2). */
export function signalProcess(process_: ProcessId, signal: NodeJS.Signals): void {
  if (process_.pid <= 1 || !isRunning(process_)) return;
  try {
    process.kill(process_.pid, signal);
  } catch (error) {
    if (!isErrno(error, 'ESRCH')) throw error;
  }
}
