import type { Profile } from '../config/profile.ts';
import { holdsRawBytes, throughShell } from '../raw-words.ts';
import { sessionEnvironment } from './session-environment.ts';
import type { SessionHost } from './session-host.ts';
import type { SessionRequest } from './session-request.ts';
import { sessionWords } from './session-words.ts';

export interface PodSession {
  readonly argv: readonly string[];
  readonly tty: boolean;
}

/**
 * What an exec into the user's pod runs. The API takes words only: environment and shell are theirs.
 *
 * @param umask That of the login (pam_umask).
 */
export function podSession(
  host: SessionHost,
  profile: Profile,
  connection: {
    readonly request: SessionRequest;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly umask?: number;
  },
): PodSession {
  const { request, env, umask } = connection;
  const shell = profile.shell ?? host.user.shell;
  // The sockets of sshd are on this host, and a pod may be on any.
  const elsewhere = { ...profile, agent: false, x11: false };
  const environment = sessionEnvironment({ env: [], shell }, env, { profile: elsewhere, host });
  const words = sessionWords(request, { shell, bundledFiles: false }, umask);
  const found = profile.shell === undefined && words[0] === shell;
  const argv = [
    '/usr/bin/env',
    ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    ...(found ? ['/bin/sh', '-c', knownShell, ...words] : words),
  ];
  return { argv: argv.some(holdsRawBytes) ? throughShell(argv) : argv, tty: request.tty };
}

/** The account's own shell where the image has it; every image of a session has /bin/sh. */
const knownShell =
  '[ -x "$0" ] || { if [ -x /bin/bash ]; then SHELL=/bin/bash; else SHELL=/bin/sh; fi; export SHELL; exec "$SHELL" "$@"; }; exec "$0" "$@"';
