import { holdsRawBytes, throughShell } from '../../../../system/program/raw-bytes.ts';
import { environmentLines } from '../../../request/environment-lines.ts';
import { podmanEnvironment, programName } from './podman-argv.ts';
import type { ProgramCall } from '../../../../system/program/program-call.ts';
import type { SessionHost } from '../../../request/session-host.ts';
import type { TerminalSize } from '../../../../system/text/terminal-size.ts';

/** A running container. */
export interface ContainerHandle {
  /** Podman's ID, 64 hexadecimal digits. */
  readonly id: string;
  /** PID, on the host, of a process in the user namespace that podman made for the user. */
  readonly pausePid: number;
  /** Restrictions of every process in it, once they have been read. */
  readonly limits?: ProcessLimits;
  /** Whether its cgroup belongs to systemd's manager of the user. */
  readonly inUserManager?: boolean;
}

/** The fields of `process` in the container's config.json that `podman exec` applies to each further process. */
export type ProcessLimits = Readonly<Partial<Record<(typeof limitFields)[number], unknown>>>;

const limitFields = [
  ...(['noNewPrivileges', 'capabilities', 'rlimits', 'oomScoreAdj'] as const),
  ...(['apparmorProfile', 'selinuxLabel'] as const),
] as const;

/** @param config config.json of the OCI runtime specification. @throws {SyntaxError} if it is not JSON */
export function parseProcessLimits(config: string): ProcessLimits {
  const { process = {} } = JSON.parse(config) as { process?: Record<string, unknown> };
  return Object.fromEntries(
    limitFields.flatMap((field) => (process[field] === undefined ? [] : [[field, process[field]]])),
  );
}

/** A process to start inside. */
export interface ExecSession {
  readonly argv: readonly string[];
  readonly tty: boolean;
  /**
   * The client's window. Without it runtime and podman set the size after the start, and a program that reads it at once
   * gets 0.
   */
  readonly terminalSize?: TerminalSize | undefined;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Starts a process in a running container with the OCI runtime itself, so that it gets the container's seccomp
 * filter, capability bounds, cgroup and labels, which joining the namespaces alone would not give. What `podman
 * exec` adds (database, lock, conmon) costs a quarter of a second and is not needed: the runtime handles terminal,
 * signals and exit code.
 *
 * It gives the user no further rights: nsenter joins the user namespace that the user owns, and the runtime reads
 * its state from a directory that only the user can write.
 *
 * @param process Path of an OCI process file (`ociProcessFile`), since others can read the arguments of a process;
 *   or the argv of a process of Berth's own, without an environment.
 */
export function runtimeExec(
  host: SessionHost,
  container: ContainerHandle,
  process: string | Pick<ExecSession, 'argv' | 'cwd'>,
): ProgramCall {
  const { user, podman, runtimeDir } = host;
  const args =
    typeof process === 'string'
      ? ['--process', process, container.id]
      : ['--user', `${user.uid}:${user.gid}`, '--cwd', process.cwd, container.id, ...process.argv];
  const call = {
    file: podman.nsenter,
    args: [
      'nsenter',
      '--user',
      '--mount',
      '--preserve-credentials',
      '--target',
      String(container.pausePid),
      '--',
      podman.runtime,
      '--root',
      `${runtimeDir}/${programName(podman.runtime)}`,
      'exec',
      ...args,
    ],
    env: podmanEnvironment(host),
  };
  return container.inUserManager === true ? inUserManager(call) : call;
}

/**
 * The same program in a scope of systemd's manager of the user. A process of an SSH session cannot move to a cgroup below
 * user@UID.service itself: the kernel wants the user to own a cgroup above both (cgroups(7), "Delegation containment").
 */
function inUserManager({ file, args, env }: ProgramCall): ProgramCall {
  const run = ['systemd-run', '--user', '--scope', '--quiet', '--collect', '--'];
  return { file: '/usr/bin/systemd-run', args: [...run, file, ...args.slice(1)], env };
}

/**
 * Runs a command as the container's root with the container's files, for files that only that root may write. It
 * takes a fifth of the runtime's time, and must only run Berth's own commands: it joins just the user's user and
 * mount namespaces, so it has none of the container's filters. Processes inside do not see it. On the host, that
 * root is one of the user's subordinate IDs.
 *
 * @param pid PID, on the host, of a process in the container.
 */
export function inContainerFiles(
  host: SessionHost,
  pid: number,
  argv: readonly string[],
): ProgramCall {
  return {
    file: host.podman.nsenter,
    args: ['nsenter', '--user', '--mount', '--target', String(pid), '--', ...argv],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
  };
}

/** Runs a command as root of the user namespace that podman made for the user, with the host's files. */
export function inUserNamespace(
  host: SessionHost,
  pausePid: number,
  argv: readonly string[],
): ProgramCall {
  const join = ['--user', '--mount', '--preserve-credentials', '--target', String(pausePid)];
  return {
    file: host.podman.nsenter,
    args: ['nsenter', ...join, '--', ...argv],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
  };
}

/** The `process` object of config.md in the OCI runtime specification, as crun and runc read it for `exec`. */
export function ociProcessFile(
  { user }: SessionHost,
  { limits }: Pick<ContainerHandle, 'limits'>,
  session: ExecSession,
): string {
  const { argv, tty, terminalSize, cwd, env } = withoutRawBytes(session);
  return JSON.stringify({
    // The runtime does not take missing fields from the container.
    ...limits,
    terminal: tty,
    user: { uid: user.uid, gid: user.gid },
    args: argv,
    cwd,
    consoleSize: terminalSize && { height: terminalSize.rows, width: terminalSize.columns },
    env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
  });
}

/** A process file is JSON text, so a shell inside creates values that have bytes which are not UTF-8. */
function withoutRawBytes(session: ExecSession): ExecSession {
  const argv = session.argv.some(holdsRawBytes) ? throughShell(session.argv) : session.argv;
  return setVariablesByShell({ ...session, argv }, holdsRawBytes);
}

/** Moves values that a file format cannot hold into one variable, from which a shell inside sets them. */
export function setVariablesByShell(
  session: ExecSession,
  isOdd: (value: string) => boolean,
): ExecSession {
  const all = Object.entries(session.env);
  const odd = all.filter(([, value]) => isOdd(value));
  if (odd.length === 0) return session;
  const lines = environmentLines(Object.fromEntries(odd)).join('; ');
  const script = 'eval "$BERTH_ENVIRONMENT"; unset BERTH_ENVIRONMENT; exec "$0" "$@"';
  return {
    ...session,
    argv: ['/bin/sh', '-c', script, ...session.argv],
    env: {
      ...Object.fromEntries(all.filter(([, value]) => !isOdd(value))),
      BERTH_ENVIRONMENT: lines,
    },
  };
}
