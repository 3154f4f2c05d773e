import { programName } from './program-name.ts';
import type { ProgramCall, SessionHost } from './session-host.ts';
import { podmanEnvironment } from './podman-call.ts';

/** A container that runs. */
export interface WarmContainer {
  /** Podman's ID of 64 hexadecimal digits. */
  readonly id: string;
  /** Host's PID of a process in the user namespace that podman made for the user. */
  readonly pausePid: number;
}

/** What runs inside, and how. */
export interface ExecSession {
  readonly words: readonly string[];
  readonly tty: boolean;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * A process in a warm container, as the OCI runtime itself starts it: with the container's seccomp
 * filter, capability bounds, cgroup and labels, which joining its namespaces alone would not give. What
 * `podman exec` adds (a database, a lock, conmon) costs a quarter of a second and keeps nothing that a
 * session needs: its terminal, signals and exit code are the runtime's own.
 *
 * Safe because it is the user's own: nsenter joins the user namespace that the user owns, and the
 * runtime reads its state from a folder that only the user can write.
 */
export function runtimeExec(
  host: SessionHost,
  container: WarmContainer,
  session: ExecSession,
): ProgramCall {
  const { user, podman, runFolder } = host;
  return {
    file: podman.nsenter,
    args: [
      'nsenter',
      ...['--user', '--mount', '--preserve-credentials'],
      ...['--target', String(container.pausePid)],
      '--',
      podman.runtime,
      ...['--root', `${runFolder}/${programName(podman.runtime)}`],
      'exec',
      ...(session.tty ? ['--tty'] : []),
      ...['--user', `${user.uid}:${user.gid}`],
      ...['--cwd', session.cwd],
      ...environmentWords(session.env),
      container.id,
      ...session.words,
    ],
    env: podmanEnvironment(host),
  };
}

/**
 * A process that sees a container's files as its root, for the few that only that root may write. It
 * takes a fifth of what the runtime needs, and is for words of ours alone: it joins no more than the
 * user's own user and mount namespaces, so it has none of the container's filters, and nothing in the
 * container sees it. Outside, that root is one of the user's subordinate IDs.
 *
 * @param pid Host's PID of a process in the container.
 */
export function inFilesOf(host: SessionHost, pid: number, words: readonly string[]): ProgramCall {
  return {
    file: host.podman.nsenter,
    args: ['nsenter', '--user', '--mount', '--target', String(pid), '--', ...words],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
  };
}

/** The runtime and podman take the environment inside alike. */
export function environmentWords(env: ExecSession['env']): string[] {
  return Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
}
