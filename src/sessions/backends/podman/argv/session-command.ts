import { transferToolsDir } from '../../../../config/schema/bundled-transfer-argv.ts';
import type { Profile } from '../../../../config/schema/profile/profile.ts';
import type { ProgramCall } from '../../../../system/program/program-call.ts';
import { holdsRawBytes, throughShell } from '../../../../system/program/raw-bytes.ts';
import { sessionEnvironment } from '../../../request/session-environment.ts';
import type { SessionHost } from '../../../request/session-host.ts';
import {
  sessionArgv,
  type SessionRequest,
  transferProgram,
} from '../../../request/session-request.ts';
import { sourceText } from '../../../../system/program/source-text.ts';
import { setSizeCommands } from '../../../../system/text/terminal-size.ts';
import { podmanCommand, programName } from './podman-argv.ts';
import {
  type ContainerHandle,
  type ExecSession,
  ociProcessFile,
  runtimeExec,
  setVariablesByShell,
} from './runtime-exec.ts';

/** The file that the program reads: what must not be on its command line. */
export interface StartFile {
  readonly path: string;
  readonly text: string;
}

type SessionCall = ProgramCall & { readonly startFile: StartFile };

/** A running container, with what its image provides. */
export interface SessionContainer extends ContainerHandle {
  /** PID of its first process on the host. */
  readonly pid: number;
  /** `NAME=VALUE` of the image. */
  readonly env: readonly string[];
  /** The user's shell inside the container. */
  readonly shell: string;
  /** Working directory of sessions: the home, or / if there is no home inside. */
  readonly cwd: string;
  readonly hasBundledTools: boolean;
  readonly terminalRelay: TerminalRelay;
}

/** A session's request and environment. */
export interface SessionInput {
  readonly request: SessionRequest;
  readonly profile: Profile;
  /** The environment that sshd set. */
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** The login's umask (pam_umask); absent in a plan. */
  readonly umask?: number;
}

/** PATH for images that do not set it. */
const usualPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The argv, environment and working directory of a session's process. */
export function containerSession(
  host: SessionHost,
  container: SessionContainer,
  { request, profile, env, umask }: SessionInput,
): ExecSession {
  const inside = sessionEnvironment(container, env, { profile, host });
  const isScp = container.hasBundledTools && transferProgram(request) === 'scp';
  return {
    argv: sessionArgv(request, container, umask),
    tty: request.tty,
    cwd: container.cwd,
    env: isScp ? { ...inside, PATH: `${inside.PATH ?? usualPath}:${transferToolsDir}` } : inside,
  };
}

/**
 * The program that replaces the login.
 *
 * @param file Path of a file that the caller must write: the OCI process, or its environment.
 */
export function sessionCommand(
  host: SessionHost,
  container: SessionContainer,
  session: ExecSession,
  file: string,
): SessionCall {
  if (session.tty && container.terminalRelay === 'podman')
    return podmanExec(host, container, session, file);
  const startFile = { path: file, text: ociProcessFile(host, container, session) };
  return { ...runtimeExec(host, container, file), startFile };
}

/** Which program relays a session's terminal: the OCI runtime, or podman with its conmon. */
type TerminalRelay = 'runtime' | 'podman';

/** The first version in which `crun exec --tty` follows changes of the window size (crun 907d0322). */
const crunResizes = [1, 8, 7] as const;

/**
 * The runtime if it follows changes of the window size, else podman, which takes a quarter of a second longer.
 *
 * @param version Output of `RUNTIME --version`.
 */
export function terminalRelay(runtime: string, version: string): TerminalRelay {
  if (programName(runtime) !== 'crun') return 'runtime';
  const numbers = /\bversion (\d+)\.(\d+)(?:\.(\d+))?/.exec(version)?.slice(1) ?? [];
  for (const [place, wanted] of crunResizes.entries()) {
    const found = Number(numbers[place] ?? 0);
    if (found !== wanted) return found > wanted ? 'runtime' : 'podman';
  }
  return 'runtime';
}

/** Podman sets the size of the terminal beside the start of the command, and sometimes after it. */
function withTerminalSize(session: ExecSession): ExecSession {
  const [command] = session.terminalSize ? setSizeCommands(session.terminalSize) : [];
  if (command === undefined) return session;
  return { ...session, argv: ['/bin/sh', '-c', `${command}; exec "$0" "$@"`, ...session.argv] };
}

/**
 * Runs `podman exec`, and says in a sentence that its container has ended, instead of podman's messages about itself. The first
 * process of the container ends a moment after the others. Arguments: a path for podman's messages, the PID of the first process, and
 * the command line. It has no comments, because `ps` shows it.
 */
const withSentence = sourceText('podman-exec.sh', import.meta.url);

/**
 * The same session as with `runtimeExec`, with a terminal that podman relays.
 *
 * @param environmentFile Path of a file with the session's environment, one line per variable. The variables must
 *   not be in podman's own environment, where LD_PRELOAD or CONTAINERS_CONF would change what podman does.
 */
function podmanExec(
  host: SessionHost,
  { id, pid }: SessionContainer,
  session: ExecSession,
  environmentFile: string,
): SessionCall {
  const { user } = host;
  // Podman reads text, and one line per variable.
  const isOdd = (value: string): boolean => /[\r\n]/.test(value) || holdsRawBytes(value);
  const { argv, env, cwd } = setVariablesByShell(withTerminalSize(session), isOdd);
  const call = podmanCommand(host, [
    'exec',
    '--interactive',
    '--tty',
    // Else ctrl-p ctrl-q would detach from the session and leave it running.
    '--detach-keys',
    '',
    '--user',
    `${user.uid}:${user.gid}`,
    '--workdir',
    cwd,
    '--env-file',
    environmentFile,
    id,
    ...(argv.some(holdsRawBytes) ? throughShell(argv) : argv),
  ]);
  const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`);
  return {
    file: '/bin/sh',
    args: [
      'sh',
      '-c',
      withSentence,
      'login',
      `${environmentFile}.messages`,
      String(pid),
      call.file,
      ...call.args.slice(1),
    ],
    env: call.env,
    startFile: { path: environmentFile, text: lines.join('') },
  };
}
