import { setTimeout as sleep } from 'node:timers/promises';
import { expectErrno } from './errors/berth-error.ts';
import { processStatus, realUid } from './proc-status.ts';
import { isRunning, isRunningAs, type ProcessFacts, type ProcessId } from './processes.ts';

/** Signals in order, each with the time that the processes then have to end, in milliseconds. */
export type SignalSteps = readonly (readonly [signal: NodeJS.Signals, timeoutMs: number])[];

/** First as when a terminal is closed, then as at a shutdown, then SIGKILL. */
export const signalSteps: SignalSteps = [
  ['SIGHUP', 400],
  ['SIGTERM', 1_000],
  ['SIGKILL', 2_000],
];

/** A process as it was found: a signal is not for what has become of its PID since. */
export type SignalTarget = Pick<ProcessFacts, 'pid' | 'start' | 'uid'>;

export interface EndResult<Target extends SignalTarget = SignalTarget> {
  readonly ended: readonly Target[];
  /** What remains: it hangs in the kernel, or is started faster than it is ended. */
  readonly left: readonly Target[];
}

const everyMs = 20;

/** How often to look for new processes, while those that were found have not ended. Milliseconds. */
const findMs = 100;

/**
 * Ends processes. `find` is called before each signal, when all that were found have ended, and while waiting, so that new children
 * are found too. The last signal is sent at each call.
 */
export async function endProcesses<Target extends SignalTarget>(
  find: () => readonly Target[] | Promise<readonly Target[]>,
  steps: SignalSteps = signalSteps,
): Promise<EndResult<Target>> {
  const seen = new Map<string, Target>();
  for (const [index, [signal, timeoutMs]] of steps.entries()) {
    const end = performance.now() + timeoutMs;
    const sent = new Set<string>();
    for (;;) {
      const found = await find();
      if (found.length === 0) return resultOf(seen);
      for (const process of found) {
        const key = keyOf(process);
        seen.set(key, process);
        if (sent.has(key) && index < steps.length - 1) continue;
        sent.add(key);
        signalProcess(process, signal);
      }
      if (performance.now() > end) break;
      await endOf(found, Math.min(performance.now() + findMs, end));
    }
  }
  return resultOf(seen, await find());
}

/** Waits until they have ended, but not after `latest`. */
async function endOf(processes: readonly ProcessId[], latest: number): Promise<void> {
  do await sleep(everyMs);
  while (performance.now() < latest && processes.some(isRunning));
}

/** @param now the processes that were found last, including new ones */
function resultOf<Target extends SignalTarget>(
  seen: ReadonlyMap<string, Target>,
  now: readonly Target[] = [],
): EndResult<Target> {
  const running = [...seen].filter(([, process]) => isRunning(process));
  const left = new Map([...running, ...now.map((process) => [keyOf(process), process] as const)]);
  return {
    ended: [...seen].flatMap(([key, process]) => (left.has(key) ? [] : [process])),
    left: [...left.values()],
  };
}

function keyOf({ pid, start }: ProcessId): string {
  return `${pid}.${start}`;
}

/**
 * Sends a signal: with `killUnseen` the only place that signals processes which this program did not start. As far as possible without
 * pidfd_send_signal(2), it reaches no later process with the same PID and none that is another user's by now; never the first
 * process of the host or of a namespace (1), nor a group (0 and below).
 */
export function signalProcess({ pid, start, uid }: SignalTarget, signal: NodeJS.Signals): void {
  if (pid > 1 && isRunningAs({ pid, start }, uid)) sendSignal(pid, signal);
}

/**
 * Kills a process of whose start nothing can be asked, because it lets nobody look (`pidsByUid`).
 *
 * @param isTheirs whether a real UID is that of the user whose process it was
 */
export function killUnseen(pid: number, isTheirs: (uid: number) => boolean): void {
  if (pid > 1 && isTheirs(realUid(processStatus(pid)))) sendSignal(pid, 'SIGKILL');
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It has ended.
    expectErrno(error, 'ESRCH');
  }
}
