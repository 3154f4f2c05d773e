import { writeFileSync } from 'node:fs';
import { startProgram } from './run-program.ts';
import { randomDigits } from './temporary-name.ts';

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
  readonly stdio: readonly ['ignore' | 'pipe', 'pipe', 'pipe'];
}

/**
 * Starts a program of which a user may control what it does, trace it or answer for it: all programs that root starts as a user are
 * started here. It is in a session of its own, without a terminal (a tracer could type into root's, TIOCSTI), and in a process
 * group of its own, so that all of it can be killed. Of root's groups, environment and descriptors it has none. Until the
 * program runs, the kernel lets nobody trace it: a change of the UID makes a process undumpable (prctl(2), PR_SET_DUMPABLE).
 *
 * With systemd, what root starts as a user is in a scope of its own, with limits, whatever cgroup root is in. If systemd does not
 * answer in time, the program is not started, with exit status 75.
 *
 * @returns the process, and what ends all that it has left in its scope
 * @throws system errors of spawn
 */
export function startApart(
  file: string,
  args: readonly string[],
  { env, user = realUser(), stdio }: ApartOptions,
) {
  const options = { env, detached: true, stdio };
  if (user === undefined || user.uid === 0 || process.geteuid?.() !== 0)
    // libuv drops the supplementary groups with the UID.
    return { child: startProgram(file, args, { ...options, ...user }), endScope: () => undefined };
  // Not its PID, which can be used again.
  const scope = `berth-user-${user.uid}-${randomDigits(8)}.scope`;
  const words = [scope, `${user.uid}`, `${user.gid}`, file, ...args];
  const child = startProgram('/bin/sh', ['-c', inScope, 'sh', ...words], options);
  return { child, endScope: () => killScope(scope) };
}

/** Of each scope: what a user adds to the hooks of a container takes no more. Bytes, and tasks. */
const limits = 'MemoryMax t 268435456 TasksMax t 256 CPUWeight t 20';

/**
 * Moves this shell to its scope, and becomes the program. systemd does so after it has answered. Where it refuses, the program runs in
 * root's cgroup. Arguments: SCOPE UID GID FILE [ARGUMENT...]
 */
const inScope = `
  scope=$1 uid=$2 gid=$3 systemd=org.freedesktop.systemd1
  shift 3
  # In records of the kernel's audit it is the user's, and not of the admin who typed a command, or of the user's choice.
  { echo "$uid" >/proc/self/loginuid; } 2>/dev/null
  if [ -d /run/systemd/system ]; then
    /usr/bin/env -i /usr/bin/timeout 5 /usr/bin/busctl --system call $systemd /org/freedesktop/systemd1 \\
      $systemd.Manager StartTransientUnit 'ssa(sv)a(sa(sv))' "$scope" fail \\
      7 Description s "Work of root for UID $uid" Slice s berth-users.slice PIDs au 1 $$ ${limits} \\
      CollectMode s inactive-or-failed 0 >/dev/null 2>&1
    answer=$? tries=0
    while [ $answer = 0 ] && [ $tries != 100 ] && ! /usr/bin/grep -q "/$scope$" /proc/self/cgroup; do
      /usr/bin/sleep 0.02
      tries=$((tries + 1))
    done
    if [ $answer = 124 ] || [ $tries = 100 ]; then
      echo 'systemd does not answer' >&2
      exit 75
    fi
  fi
  exec /usr/bin/setpriv --reuid="$uid" --regid="$gid" --clear-groups -- "$@"`;

/** Ends all processes of a scope with `cgroup.kill` (Linux 5.14). */
function killScope(scope: string): void {
  try {
    writeFileSync(`/sys/fs/cgroup/berth.slice/berth-users.slice/${scope}/cgroup.kill`, '1');
  } catch {
    // It was in none, or nothing is left.
  }
}

/** Only within `asUser`: the sandbox of a unit may forbid the calls. */
function realUser(): ProcessUser | undefined {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  const isReal = uid === process.geteuid?.() && gid === process.getegid?.();
  return isReal || uid === undefined || gid === undefined ? undefined : { uid, gid };
}
