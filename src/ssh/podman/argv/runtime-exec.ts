import { holdsRawBytes, throughShell } from '../../../raw-words.ts';
import { environmentLines } from '../../request/environment-lines.ts';
import { programName } from './program-name.ts';
import type { ProgramCall } from '../../../program-call.ts';
import type { SessionHost } from '../../request/session-host.ts';
import { podmanEnvironment } from './podman-argv.ts';

/** A container that runs. */
export interface WarmContainer {
  /** Podman's ID of 64 hexadecimal digits. */
  readonly id: string;
  /** Host's PID of a process in the user namespace that podman made for the user. */
  readonly pausePid: number;
  /** What holds every process in it; absent where another version of Berth made the note. */
  readonly limits?: ProcessLimits;
}

/** Those fields of `process` in the container's config.json that podman gives to each further process, too. */
export type ProcessLimits = Readonly<Partial<Record<(typeof limitFields)[number], unknown>>>;

const limitFields = [
  ...(['noNewPrivileges', 'capabilities', 'rlimits', 'oomScoreAdj'] as const),
  ...(['apparmorProfile', 'selinuxLabel'] as const),
] as const;

/** @param config config.json of the OCI runtime specification. @throws {SyntaxError} where it is no JSON */
export function processLimits(config: string): ProcessLimits {
  const { process = {} } = JSON.parse(config) as { process?: Record<string, unknown> };
  return Object.fromEntries(
    limitFields.flatMap((field) => (process[field] === undefined ? [] : [[field, process[field]]])),
  );
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
 *
 * @param process Path of an OCI process file (`processText`): words on a command line are everybody's to
 *   read. A process of ours that has no environment needs none.
 */
export function runtimeExec(
  host: SessionHost,
  container: WarmContainer,
  process: string | Pick<ExecSession, 'words' | 'cwd'>,
): ProgramCall {
  const { user, podman, runFolder } = host;
  const words =
    typeof process === 'string'
      ? ['--process', process, container.id]
      : [
          ...['--user', `${user.uid}:${user.gid}`, '--cwd', process.cwd],
          ...[container.id, ...process.words],
        ];
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
      ...words,
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

/** A process that is root in the user namespace that podman made for the user, with the host's files. */
export function inUserNamespace(
  host: SessionHost,
  pausePid: number,
  words: readonly string[],
): ProgramCall {
  const join = ['--user', '--mount', '--preserve-credentials', '--target', String(pausePid)];
  return {
    file: host.podman.nsenter,
    args: ['nsenter', ...join, '--', ...words],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
  };
}

/** `process` of config.md of the OCI runtime specification, as crun and runc take it for `exec`. */
export function processText(
  { user }: SessionHost,
  { limits }: Pick<WarmContainer, 'limits'>,
  session: ExecSession,
): string {
  const { words, tty, cwd, env } = sayable(session);
  return JSON.stringify({
    // The runtime takes what is not said for nothing, not for the container's.
    ...limits,
    ...{ terminal: tty, user: { uid: user.uid, gid: user.gid }, args: words, cwd },
    env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
  });
}

/** The same for what holds text only: a shell inside makes the bytes that are none. */
function sayable(session: ExecSession): ExecSession {
  const words = session.words.some(holdsRawBytes) ? throughShell(session.words) : session.words;
  return withoutOdd({ ...session, words }, holdsRawBytes);
}

/** Values that a file's format has no words for come in as one variable, and are made inside. */
export function withoutOdd(session: ExecSession, isOdd: (value: string) => boolean): ExecSession {
  const all = Object.entries(session.env);
  const odd = all.filter(([, value]) => isOdd(value));
  if (odd.length === 0) return session;
  const made = environmentLines(Object.fromEntries(odd)).join('; ');
  const script = 'eval "$BERTH_ENVIRONMENT"; unset BERTH_ENVIRONMENT; exec "$0" "$@"';
  return {
    ...session,
    words: ['/bin/sh', '-c', script, ...session.words],
    env: {
      ...Object.fromEntries(all.filter(([, value]) => !isOdd(value))),
      BERTH_ENVIRONMENT: made,
    },
  };
}
