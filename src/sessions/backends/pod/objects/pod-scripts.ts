import {
  bundledArgv,
  type BundledProgram,
  hostPrograms,
  transferToolsDir,
} from '../../../../config/schema/bundled-transfer-argv.ts';
import { sourceText } from '../../../../system/program/source-text.ts';

const complete = `${transferToolsDir}/.complete`;

/** Exit code of `probeArgv` if the pod does not have the program. */
export const notInstalled = 3;

/** The argv that checks whether the pod has a program, from the image or installed. */
export function probeArgv(program: BundledProgram): string[] {
  const own = program === 'scp' ? 'command -v scp >/dev/null' : eachServer('[ -x "$p" ]');
  return ['/bin/sh', '-c', `${own} && exit 0; [ -e ${complete} ] || exit ${notInstalled}`];
}

/** The argv that runs the image's sftp-server, wherever its distribution installs it, or the one that Berth installed. */
export function sftpServerArgv(options: readonly string[]): string[] {
  const run = `${eachServer('[ -x "$p" ]')} && exec "$p" "$@"; exec ${bundledArgv('sftp-server').join(' ')} "$@"`;
  return ['/bin/sh', '-c', run, 'sftp-server', ...options];
}

/** For a shell that looks up scp in PATH: the installed programs come last. */
export const appendInstalledTools = `PATH="$PATH:${transferToolsDir}"; export PATH`;

export interface UnpackedFile {
  /** Relative path, such as `lib/libc.so.6`. */
  readonly name: string;
  /** Bytes. */
  readonly size: number;
}

/**
 * The argv that creates files from their concatenation on standard input. Each file is replaced atomically, so two logins
 * may do it at the same time.
 */
export function unpackArgv(files: readonly UnpackedFile[]): string[] {
  const script = sourceText('./unpack.sh', import.meta.url);
  const words = files.flatMap(({ name, size }) => [name, String(size)]);
  return ['/bin/sh', '-c', script, transferToolsDir, ...words];
}

/** A shell command that succeeds if one of the paths passes the test; `$p` is that path. */
function eachServer(test: string): string {
  const paths = hostPrograms['sftp-server'].join(' ');
  return `for p in ${paths} ''; do [ -n "$p" ] || break; ${test} && break; done; [ -n "$p" ]`;
}

/**
 * A shell function (`proc.sh`) for scripts that read a pod's /proc: `facts PID` sets `state`, `parent`, `group`,
 * `session` and `start` from /proc/PID/stat (proc(5)), and fails if the process has ended. Only the fields after
 * the last `)` are read: the process chooses what stands before it.
 */
const procScript = sourceText('./proc.sh', import.meta.url);

/**
 * Shell functions that stop every process which the shell may signal in its PID namespace, except
 * the shell itself. kill(2) with -1 stops all of them at one moment, because it holds the lock that fork(2)
 * needs.
 *
 * - `freeze` stops them. They continue when the shell exits or, if the shell was killed, after 15 seconds: on a
 *   busy host one look at all processes may need some of them.
 * - `hold` stops nothing. After it, too, all processes continue when the shell exits, so a caller can first stop
 *   some of them one by one.
 * - `thaw` continues all of them. `thawed` is for a caller that has continued each of them itself.
 * - `last` sets `last` to the PID that was assigned last.
 */
const freezeScript = sourceText('./freeze.sh', import.meta.url);

/** The script's $0, by which it recognizes other runs of itself: their mark is `sweepMark`. */
const sweepName = 'berth-sweep';

/**
 * The argv of a shell (`leftovers.sh`) that lists a pod's processes and signals them, as it is told on standard
 * input. Kubernetes ends no process when an exec's client disconnects, and no process of the login node can see
 * into a pod. The image needs /bin/sh and tr, which comes in the same package as the pod's own `sleep`.
 *
 * Other containers of the pod, which a site may inject, are left alone: a session's processes stay in the cgroup
 * of this container.
 *
 * The script first prints its PID. It answers each line with lines, the last of which is a dot:
 * - `table`: a row of `podProcesses` for each process of this container
 * - `look`: the PID that was assigned last, then PID and start of each process, twice, then the last PID again.
 *   Twice, because fork(2) takes a PID before the child is visible.
 * - `kill -SIGNAL PID…`
 * - `hold PID…`: stops these processes, and answers when they have stopped
 * - `freeze`, then `thaw` (all) or `thawed` (the caller has continued each): see `freezeScript`
 */
export function leftoversArgv(): string[] {
  const script = procScript + freezeScript + sourceText('./leftovers.sh', import.meta.url);
  return ['/bin/sh', '-c', script, sweepName];
}

/**
 * The argv that sends a signal to the process group of a command started `withExitMarker` in a pod, as sshd does.
 * Kubernetes has no request for signals.
 *
 * @param nonce the command's. It is passed in two halves, so that the script does not find its own command line.
 */
export function signalArgv(nonce: string, signal: string): string[] {
  const half = nonce.length / 2;
  const name = signal.replace(/^SIG/, '');
  const script = procScript + sourceText('./signal.sh', import.meta.url);
  return ['/bin/sh', '-c', script, nonce.slice(0, half), nonce.slice(half), name];
}
