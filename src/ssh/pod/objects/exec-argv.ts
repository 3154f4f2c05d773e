import type { Profile } from '../../../config/profile/profile.ts';
import { transferProgram } from '../../request/transfer-program.ts';
import { broughtLast, podSftpWords } from './transfer-scripts.ts';
import { withEndMark } from '../exec/protocol/exit-marker.ts';
import type { Opening } from '../exec/protocol/opening.ts';
import { sessionEnvironment } from '../../request/session-environment.ts';
import type { SessionHost } from '../../request/session-host.ts';
import type { SessionRequest } from '../../request/session-request.ts';
import { sessionWords } from '../../request/session-argv.ts';

export interface PodSession {
  /** Of the exec: nothing in it is the user's. */
  readonly argv: readonly string[];
  readonly tty: boolean;
  readonly opening: Opening;
}

interface Size {
  readonly columns: number;
  readonly rows: number;
}

const unknownSize: Size = { columns: 0, rows: 0 };

/**
 * What an exec into the user's pod runs. The API takes words only, and shows them: environment, shell and
 * umask come by the opening, and how it ended is said in the output.
 *
 * @param umask That of the login (pam_umask).
 * @param nonce As `withEndMark` takes it.
 */
export function podSession(
  host: SessionHost,
  profile: Profile,
  connection: {
    readonly request: SessionRequest;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly umask?: number;
    readonly nonce: string;
    /** Of the client's terminal, in characters; 0 where it has none, or does not say. */
    readonly size?: Size;
    /** Of the environment: what leads to sshd's sockets from inside. */
    readonly forwarded?: Readonly<Record<string, string>>;
    /** As `groupsText`, where the pod must have been made with the same. */
    readonly groups?: string;
  },
): PodSession {
  const { request, env, umask, nonce, size = unknownSize, forwarded = {}, groups } = connection;
  const { tty } = request;
  const shell = profile.shell ?? host.user.shell;
  // The sockets of sshd are on this host, and a pod may be on any.
  const elsewhere = { ...profile, agent: false, x11: false };
  const environment = {
    ...sessionEnvironment({ env: [], shell }, env, { profile: elsewhere, host }),
    ...forwarded,
  };
  const words = podWords(request, shell, umask);
  const before = [
    ...(tty ? sized(size) : []),
    ...(umask === undefined ? [] : [`umask ${umask.toString(8).padStart(3, '0')}`]),
    ...(profile.shell === undefined && words[0] === shell ? [knownShell] : []),
    ...(transferProgram(request) === 'scp' ? [broughtLast] : []),
  ].join('; ');
  const opening = {
    ...{ words, env: environment },
    ...(before === '' ? {} : { before }),
    ...(groups === undefined ? {} : { groups }),
  };
  return { argv: withEndMark(nonce, { tty }), tty, opening };
}

function podWords(request: SessionRequest, shell: string, umask?: number): string[] {
  const inside = { shell, bundledFiles: false };
  if (request.kind !== 'sftp') return sessionWords(request, inside);
  const [, ...options] = sessionWords(request, inside, umask);
  return podSftpWords(options);
}

/** The account's own shell where the image has it; every image of a session has /bin/sh. */
const knownShell =
  '[ -x "$1" ] || { shift; if [ -x /bin/bash ]; then SHELL=/bin/bash; else SHELL=/bin/sh; fi; set -- "$SHELL" "$@"; }';

/** The cluster sets it too, but only after the command has begun, and that may look at once. */
function sized({ columns, rows }: Size): string[] {
  return columns > 0 && rows > 0 ? [`stty cols ${columns} rows ${rows} 2>/dev/null`] : [];
}
