import type { Profile } from '../../../../config/schema/profile/profile.ts';
import {
  sessionArgv,
  type SessionRequest,
  transferProgram,
} from '../../../request/session-request.ts';
import { appendInstalledTools, sftpServerArgv } from './pod-scripts.ts';
import { withExitMarker } from '../../../exec/protocol/exit-marker.ts';
import type { CommandPreamble } from '../../../exec/protocol/command-preamble.ts';
import { sessionEnvironment } from '../../../request/session-environment.ts';
import type { SessionHost } from '../../../request/session-host.ts';
import { setSizeCommands, type TerminalSize } from '../../../../system/text/terminal-size.ts';

export interface PodSession {
  /** argv of the exec. It contains nothing of the user's command. */
  readonly argv: readonly string[];
  readonly tty: boolean;
  readonly opening: CommandPreamble;
}

const unknownSize: TerminalSize = { columns: 0, rows: 0 };

/**
 * What an exec into the user's pod runs. The API accepts only arguments, and logs them. So environment, shell and umask are
 * sent in the opening, and the exit code is part of the output.
 */
export function podSession(
  host: SessionHost,
  profile: Profile,
  connection: {
    readonly request: SessionRequest;
    readonly env: Readonly<NodeJS.ProcessEnv>;
    /** The login's (pam_umask). */
    readonly umask?: number;
    /** As for `withExitMarker`. */
    readonly nonce: string;
    /** Size of the client's terminal. */
    readonly size?: TerminalSize;
    /** Environment variables for the sockets that are forwarded. */
    readonly forwarded?: Readonly<Record<string, string>>;
    /** As `groupsText`, if the pod must have been created with these groups. */
    readonly groups?: string;
  },
): PodSession {
  const { request, env, umask, nonce, size = unknownSize, forwarded = {}, groups } = connection;
  const { tty } = request;
  const shell = profile.shell ?? host.user.shell;
  // sshd's sockets are on this host, and the pod may be on any node.
  const elsewhere = { ...profile, agent: false, x11: false };
  const environment = {
    ...sessionEnvironment({ env: [], shell }, env, { profile: elsewhere, host }),
    ...forwarded,
  };
  const words = podWords(request, shell, umask);
  const before = [
    ...(tty ? setSizeCommands(size) : []),
    ...(umask === undefined ? [] : [`umask ${umask.toString(8).padStart(3, '0')}`]),
    ...(profile.shell === undefined && words[0] === shell ? [knownShell] : []),
    ...(transferProgram(request) === 'scp' ? [appendInstalledTools] : []),
  ].join('; ');
  const opening = {
    words,
    env: environment,
    ...(before !== '' && { before }),
    groups,
  };
  return { argv: withExitMarker(nonce, { tty }), tty, opening };
}

function podWords(request: SessionRequest, shell: string, umask?: number): string[] {
  const inside = { shell, hasBundledTools: false };
  if (request.kind !== 'sftp') return sessionArgv(request, inside);
  const [, ...options] = sessionArgv(request, inside, umask);
  return sftpServerArgv(options);
}

/** Replaces the account's shell if the image does not have it. Every image of a session has /bin/sh. */
const knownShell =
  '[ -x "$1" ] || { shift; if [ -x /bin/bash ]; then SHELL=/bin/bash; else SHELL=/bin/sh; fi; set -- "$SHELL" "$@"; }';
