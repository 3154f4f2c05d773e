import { type ChildProcess, spawn } from 'node:child_process';

/** The user of a process. */
export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
}

export interface ApartOptions {
  /** The whole environment. */
  readonly env: NodeJS.ProcessEnv;
  /** Default: the real UID and GID of this process, also within `asUser`. */
  readonly user?: ProcessUser | undefined;
  /** Its standard input, output and error; it gets no other descriptor. */
  readonly stdio: readonly ('ignore' | 'pipe')[];
}

/**
 * Starts a program of which a user may control what it does, trace it or answer for it: all programs that root starts as a user are
 * started here. It is in a session of its own, without a terminal (a tracer could type into root's, TIOCSTI), and in a process
 * group of its own, so that all of it can be killed. Of root's groups, environment and descriptors it has none. Until the
 * program runs, the kernel lets nobody trace it: a change of the UID makes a process undumpable (prctl(2), PR_SET_DUMPABLE).
 *
 * @throws system errors of spawn
 */
export function startApart(
  file: string,
  args: readonly string[],
  { env, user, stdio }: ApartOptions,
): ChildProcess {
  return spawn(file, args, {
    cwd: '/',
    env,
    detached: true,
    stdio: [...stdio],
    // libuv drops the supplementary groups with the UID.
    ...(user ?? realUser()),
  });
}

/** Only within `asUser`: the sandbox of a unit may forbid the calls. */
function realUser(): ProcessUser | undefined {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  const isReal = uid === process.geteuid?.() && gid === process.getegid?.();
  return isReal || uid === undefined || gid === undefined ? undefined : { uid, gid };
}
