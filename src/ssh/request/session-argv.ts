import { bundledArgv } from '../../transfer-tools.ts';
import type { SessionRequest } from './session-request.ts';

/** What the OCI runtime gives to each process that it starts in a container. */
const umaskInside = 0o022;

/**
 * What runs inside, as sshd would run it: the user's shell as a login shell, or with the client's
 * command as its one argument (session.c, do_child). All shells of passwd know `-l`.
 *
 * @param umask That of the login (pam_umask); the runtime would set its own, whatever it inherits.
 */
export function sessionWords(
  { kind, command }: SessionRequest,
  inside: { readonly shell: string; readonly bundledFiles: boolean },
  umask = umaskInside,
): string[] {
  const octal = umask === umaskInside ? undefined : umask.toString(8).padStart(3, '0');
  if (kind === 'sftp' && command !== undefined)
    return sftpWords(command, inside.bundledFiles, octal);
  const words =
    kind === 'shell' || command === undefined
      ? [inside.shell, '-l']
      : [inside.shell, '-c', command];
  return octal === undefined
    ? words
    : ['/bin/sh', '-c', `umask ${octal}; exec "$0" "$@"`, ...words];
}

function sftpWords(command: string, bundled: boolean, umask: string | undefined): string[] {
  const [, ...said] = command.trim().split(/\s+/);
  // Of two -u the last counts: what the admin wrote in sshd_config.
  const options = [...(umask === undefined ? [] : ['-u', umask]), ...said];
  return bundled
    ? bundledArgv('sftp-server', options)
    : ['/usr/lib/openssh/sftp-server', ...options];
}
