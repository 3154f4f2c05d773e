import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { BerthError, type ErrorCode, type ExitClass } from '../../system/errors/berth-error.ts';
import { hungProcess, noteHung } from '../../system/hung-processes.ts';
import { ProcessLooks } from '../../system/process-looks.ts';
import { type ChildProcessByStdio, startProgram } from '../../system/run-program.ts';
import { userServices } from '../sessions/list-sessions.ts';
import { beginReap, type BegunReap, emptyReap, type UserReap } from './reap-user.ts';
import type { SessionContext } from '../../sessions/connections/state-paths.ts';
import { parsedJson } from '../../system/text/parsed-json.ts';

/**
 * Starts a process that runs `reapEach` for these users, with its outputs as pipes.
 *
 * @param alone one after the other
 */
export type StartReapProcess = (
  uids: readonly number[],
  alone: boolean,
) => ChildProcessByStdio<null, Readable, Readable>;

/**
 * A `StartReapProcess` that appends the UIDs to an argv, joined by commas, and `--alone`.
 *
 * @param env this program's environment
 * @param showsLog whether its log goes to this program's standard error
 */
export function reapProcessCommand(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  showsLog = true,
): StartReapProcess {
  return (uids, alone) => {
    const words = [...args, uids.join(','), ...(alone ? ['--alone'] : [])];
    const child = startProgram(file, words, {
      // As in `tuneStartup`: each change of credentials interrupts all threads.
      env: { ...env, UV_THREADPOOL_SIZE: '2' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    // Not inherited: a process that survives SIGKILL would keep it open.
    if (showsLog) child.stderr.pipe(process.stderr, { end: false });
    else child.stderr.resume();
    return child;
  };
}

export interface ReapedUser {
  readonly uid: number;
  readonly reaped: UserReap;
}

/** UIDs on one command line: far below the system's limit. */
const mostAtOnce = 1_000;

/** How long the end of a killed process is waited for. Milliseconds. */
const afterKillMs = 1_000;

/** For `reapInTurn`. */
interface TurnLimits {
  /** Limit for one user, and for the processes that end together; longer fails with `reap-user-timeout`. Milliseconds. */
  readonly turnMs: number;
  /** Limit for all users. Users that are not handled by then are missing from the result. Milliseconds. */
  readonly roundMs: number;
  /** Users who took too long in the last round, at the end of the list: they are handled one after the other. */
  readonly slow?: ReadonlySet<number>;
  /** The note of a user whose process has survived SIGKILL (`noteHung`). While it exists, the user is not handled. */
  readonly noteOf: (uid: number) => string;
  /** Called whenever the users that a process is at have taken `waitMs`. Never throws. */
  readonly onWait?: ((uids: readonly number[]) => Promise<void>) | undefined;
}

/** What few cleanups take, unless they wait for a user. Milliseconds. */
const waitMs = 20_000;

/**
 * Reaps users in another process. A user can manipulate their storage, mounts or processes so that a process that reads them
 * blocks, even in a system call. That process is then killed, and the next user is handled in a new one.
 *
 * The process says which users it is at. After one that blocked or died, the rest are handled one after the other, also to find
 * the one of several whom it was at.
 */
export async function* reapInTurn(
  uids: readonly number[],
  { turnMs, roundMs, slow = new Set(), noteOf, onWait }: TurnLimits,
  start: StartReapProcess,
): AsyncGenerator<ReapedUser> {
  const over = performance.now() + roundMs;
  let left: number[] = [];
  for (const uid of uids) {
    const pid = hungProcess(noteOf(uid));
    if (pid === undefined) left.push(uid);
    else {
      const message = `skipped the cleanup of UID ${uid}: process ${pid} of an earlier cleanup still hangs after SIGKILL`;
      yield notReaped(uid, 'reap-user-timeout', message);
    }
  }
  let hasFailed = false;
  while (left.length > 0 && performance.now() < over) {
    const alone = hasFailed || left.every((uid) => slow.has(uid));
    const part = alone ? left : left.filter((uid) => !slow.has(uid));
    const child = start(part.slice(0, mostAtOnce), alone);
    child.on('error', () => undefined);
    const ended = once(child, 'close');
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const before = left.length;
    const limit = { isRound: false };
    let at = part.slice(0, 1);
    const next = (): Promise<IteratorResult<string> | undefined> => {
      const rest = over - performance.now();
      limit.isRound = rest <= turnMs;
      const waiting = setInterval(() => void onWait?.(at), waitMs);
      return within(Math.min(turnMs, rest), lines.next()).finally(() => clearInterval(waiting));
    };
    let line = await next();
    while (line?.done === false) {
      const told = toldIn(line.value);
      if (told === undefined) break;
      if ('at' in told) at = [...told.at];
      else {
        left = left.filter((uid) => uid !== told.uid);
        at = left.slice(0, 1);
        yield told;
      }
      line = await next();
    }
    if (line?.done !== true) {
      // Do not wait for it: in an uninterruptible system call, SIGKILL has no effect.
      child.kill('SIGKILL');
      await within(afterKillMs, ended);
      const [uid, ...others] = at;
      if (child.pid !== undefined && uid !== undefined && others.length === 0)
        noteHung(noteOf(uid), child.pid);
      child.unref();
      child.stdout.destroy();
      child.stderr.destroy();
    } else await ended;
    if (line === undefined && limit.isRound) return;
    if (left.length === 0 || (child.exitCode === 0 && left.length < before)) continue;
    hasFailed = true;
    const [uid, ...others] = at;
    if (uid === undefined || others.length > 0) continue;
    if (line === undefined) {
      const message = `cleaning up after UID ${uid} took more than ${turnMs / 1000} s`;
      yield notReaped(uid, 'reap-user-timeout', message);
    } else {
      const how = child.signalCode ?? `exit status ${child.exitCode}`;
      const message = `the cleanup process ended with ${how} while it was at UID ${uid}`;
      yield notReaped(uid, 'reap-user-crashed', message);
    }
    left = left.filter((one) => one !== uid);
  }
}

/** undefined if it takes longer. */
async function within<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  return await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** How long one look at all processes is used. Milliseconds. */
const recentMs = 5_000;

/** Users whose processes end together. */
const mostTogether = 32;

/** The other process: says which users it is at, and writes one line for each when it is done. */
export async function reapEach(
  site: SessionContext,
  uids: readonly number[],
  options: {
    readonly dryRun: boolean;
    /** One after the other; default: the processes of several users end together. */
    readonly alone?: boolean;
    readonly tell: (line: string) => void;
  },
): Promise<void> {
  const { dryRun, alone = false } = options;
  const looks = new ProcessLooks(recentMs);
  const services = Map.groupBy(userServices(), (service) => service.uid);
  const tell = (what: unknown): void => options.tell(`${JSON.stringify(what)}\n`);
  let last: readonly number[] = [];
  const isAt = (...at: number[]): void => {
    // The limit of a user begins once.
    if (at.join() !== last.join()) tell({ at });
    last = at;
  };
  const finish = async (uid: number, { finish: finishReap }: BegunReap): Promise<void> => {
    isAt(uid);
    const { failed, ...reaped } = await finishReap();
    // This process may be killed at the next user.
    site.spool?.write();
    const errors = failed.map(({ code, exit, message, hint, fields }) => ({
      code,
      exit,
      message,
      hint,
      fields,
    }));
    tell({ uid, reaped: { ...reaped, failed: errors } });
  };
  const begun = new Map<number, BegunReap>();
  const endTogether = async (): Promise<void> => {
    if (begun.size === 0) return;
    isAt(...begun.keys());
    await Promise.all([...begun.values()].map(async ({ endProcesses }) => endProcesses?.()));
    for (const [uid, reap] of begun) await finish(uid, reap);
    begun.clear();
  };
  for (const uid of uids) {
    isAt(uid);
    const reap = await beginReap(
      { ...site, looks, services: services.get(uid) ?? [] },
      uid,
      dryRun,
    );
    if (reap.endProcesses === undefined) await finish(uid, reap);
    else begun.set(uid, reap);
    if (begun.size === (alone ? 1 : mostTogether)) await endTogether();
  }
  await endTogether();
}

/** The users that `reapEach` is at, or a user that is done; undefined if the line is not complete, because it was killed. */
function toldIn(line: string): { readonly at: readonly number[] } | ReapedUser | undefined {
  const one = parsedJson(line) as
    | undefined
    | { readonly at: readonly number[] }
    | {
        readonly uid: number;
        readonly reaped: Omit<UserReap, 'failed'> & {
          readonly failed: readonly (Pick<BerthError, 'code' | 'message' | 'hint' | 'fields'> & {
            readonly exit: ExitClass;
          })[];
        };
      };
  if (one === undefined || 'at' in one) return one;
  const { uid, reaped } = one;
  const failed = reaped.failed.map(
    ({ code, message, ...details }) => new BerthError(code, message, details),
  );
  return { uid, reaped: { ...reaped, failed } };
}

function notReaped(uid: number, code: ErrorCode, message: string): ReapedUser {
  const error = new BerthError(code, message, { fields: { uid } });
  return { uid, reaped: { ...emptyReap, failed: [error] } };
}
