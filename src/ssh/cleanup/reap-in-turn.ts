import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { BerthError, type ExitClass } from '../../errors/berth-error.ts';
import { RecentProcesses } from '../../system/recent-processes.ts';
import { userServices } from '../sessions/list-sessions.ts';
import { emptyReap, reapUser, type UserReap } from './reap-user.ts';
import type { SessionContext } from '../../connections/state-paths.ts';

/** Starts a process that runs `reapEach` for these users, with its standard output as a pipe. */
export type StartReapProcess = (
  uids: readonly number[],
) => ChildProcessByStdio<null, Readable, null>;

/** A `StartReapProcess` that appends the UIDs to an argv, joined by commas. */
export function reapProcessCommand(file: string, args: readonly string[]): StartReapProcess {
  return (uids) =>
    spawn(file, [...args, uids.join(',')], { cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] });
}

export interface ReapedUser {
  readonly uid: number;
  readonly reaped: UserReap;
}

/** UIDs on one command line: far below the system's limit. */
const mostAtOnce = 1_000;

/**
 * Reaps one user after the other in another process. A user can manipulate their storage or mounts so that a process that reads them
 * blocks, even in a system call. That process is then killed, and the next user is handled in a new one.
 *
 * @param turnMs Limit for one user; longer fails with `reap-user-timeout`.
 * @param roundMs Limit for all users. Users that are not handled by then are missing from the result.
 */
export async function* reapInTurn(
  uids: readonly number[],
  { turnMs, roundMs }: { readonly turnMs: number; readonly roundMs: number },
  start: StartReapProcess,
): AsyncGenerator<ReapedUser> {
  const over = performance.now() + roundMs;
  let left = [...uids];
  while (left.length > 0 && performance.now() < over) {
    const child = start(left.slice(0, mostAtOnce));
    child.on('error', () => undefined);
    const ended = once(child, 'close');
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const before = left.length;
    const limit = { isRound: false };
    const next = (): Promise<IteratorResult<string> | undefined> => {
      const rest = over - performance.now();
      limit.isRound = rest <= turnMs;
      return within(Math.min(turnMs, rest), lines.next());
    };
    let line = await next();
    while (line?.done === false) {
      const turn = turnOf(line.value);
      if (turn === undefined) break;
      left = left.filter((uid) => uid !== turn.uid);
      yield turn;
      line = await next();
    }
    if (line?.done !== true) {
      // Do not wait for it: in an uninterruptible system call, SIGKILL has no effect.
      child.kill('SIGKILL');
      child.unref();
      child.stdout.destroy();
    } else await ended;
    if (line === undefined && limit.isRound) return;
    const [uid] = left;
    if (uid === undefined || (child.exitCode === 0 && left.length < before)) continue;
    const error = line === undefined ? tooLate(uid, turnMs) : broken(uid);
    yield { uid, reaped: { ...emptyReap, failed: [error] } };
    left = left.slice(1);
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

/** The other process: reaps each user, and writes one line for each when it is done. */
export async function reapEach(
  site: SessionContext,
  uids: readonly number[],
  options: { readonly dryRun: boolean; readonly tell: (line: string) => void },
): Promise<void> {
  const { dryRun } = options;
  const recent = new RecentProcesses(recentMs);
  const services = Map.groupBy(userServices(), (service) => service.uid);
  for (const uid of uids) {
    const reaping = { ...site, recent, services: services.get(uid) ?? [] };
    const { failed, ...reaped } = await reapUser(reaping, uid, dryRun);
    // This process may be killed at the next user.
    site.spool?.write();
    const errors = failed.map(({ code, exit, message, hint, fields }) => ({
      ...{ code, exit, message, hint, fields },
    }));
    options.tell(`${JSON.stringify({ uid, reaped: { ...reaped, failed: errors } })}\n`);
  }
}

/** undefined if `reapEach` wrote no complete line, because it was killed. */
function turnOf(line: string): ReapedUser | undefined {
  let told: unknown;
  try {
    told = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { uid, reaped } = told as {
    readonly uid: number;
    readonly reaped: Omit<UserReap, 'failed'> & {
      readonly failed: readonly (Pick<BerthError, 'code' | 'message' | 'hint' | 'fields'> & {
        readonly exit: ExitClass;
      })[];
    };
  };
  const failed = reaped.failed.map(({ message, ...details }) => new BerthError(message, details));
  return { uid, reaped: { ...reaped, failed } };
}

function tooLate(uid: number, turnMs: number): BerthError {
  return new BerthError(`cleaning up after UID ${uid} took more than ${turnMs / 1000} s`, {
    code: 'reap-user-timeout',
    fields: { uid },
  });
}

function broken(uid: number): BerthError {
  return new BerthError(`the cleanup process ended while it handled UID ${uid}`, {
    code: 'reap-user-crashed',
    fields: { uid },
  });
}
