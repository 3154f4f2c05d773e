import type { Profile } from '../../../config/profile/profile.ts';
import { filesInside } from '../../../transfer-tools.ts';
import { transferProgram } from '../../request/transfer-program.ts';
import { processText, runtimeExec, type ExecSession, type WarmContainer } from './runtime-exec.ts';
import { sessionEnvironment } from '../../request/session-environment.ts';
import type { GivenCall } from '../../../program-call.ts';
import type { SessionHost } from '../../request/session-host.ts';
import type { SessionRequest } from '../../request/session-request.ts';
import { sessionWords } from '../../request/session-argv.ts';
import { podmanExec, type TerminalBy } from './podman-exec.ts';

/** A container that runs, and what its image has. */
export interface SessionContainer extends WarmContainer {
  /** `NAME=VALUE` of the image. */
  readonly env: readonly string[];
  /** The user's shell inside. */
  readonly shell: string;
  /** Where a session starts: the home, or / where there is none inside. */
  readonly cwd: string;
  readonly bundledFiles: boolean;
  readonly terminalBy: TerminalBy;
}

/** What the connection brings along. */
export interface SessionInput {
  readonly request: SessionRequest;
  readonly profile: Profile;
  /** The environment that sshd made. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** That of the login (pam_umask); absent where there is no login. */
  readonly umask?: number;
}

/** Where an image says nothing. */
const usualPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What runs in the container, with which environment, and where. */
export function containerSession(
  host: SessionHost,
  container: SessionContainer,
  { request, profile, env, umask }: SessionInput,
): ExecSession {
  const inside = sessionEnvironment(container, env, { profile, host });
  const isScp = container.bundledFiles && transferProgram(request) === 'scp';
  return {
    words: sessionWords(request, container, umask),
    tty: request.tty,
    cwd: container.cwd,
    env: isScp ? { ...inside, PATH: `${inside.PATH ?? usualPath}:${filesInside}` } : inside,
  };
}

/**
 * The program that a login becomes.
 *
 * @param file Path of a file to be: what the session's process is, or its environment.
 */
export function sessionCall(
  host: SessionHost,
  container: SessionContainer,
  session: ExecSession,
  file: string,
): GivenCall {
  if (session.tty && container.terminalBy === 'podman')
    return podmanExec(host, container.id, session, file);
  const given = { path: file, text: processText(host, container, session) };
  return { ...runtimeExec(host, container, file), given };
}
