import type { Profile } from '../../../config/schema/profile/profile.ts';
import { transferToolsDir } from '../../../bundled-transfer-argv.ts';
import { transferProgram } from '../../../session/transfer-program.ts';
import {
  ociProcessFile,
  runtimeExec,
  type ExecSession,
  type ContainerHandle,
} from './runtime-exec.ts';
import { sessionEnvironment } from '../../../session/session-environment.ts';
import type { ProgramCallWithFile } from '../../../program-call.ts';
import type { SessionHost } from '../../../session/session-host.ts';
import type { SessionRequest } from '../../../session/session-request.ts';
import { sessionArgv } from '../../../session/session-argv.ts';
import { podmanExec, type TerminalRelay } from './podman-exec.ts';

/** A running container, with what its image provides. */
export interface SessionContainer extends ContainerHandle {
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
  readonly env: Readonly<Record<string, string | undefined>>;
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
): ProgramCallWithFile {
  if (session.tty && container.terminalRelay === 'podman')
    return podmanExec(host, container.id, session, file);
  const given = { path: file, text: ociProcessFile(host, container, session) };
  return { ...runtimeExec(host, container, file), given };
}
