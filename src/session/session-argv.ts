import { bundledArgv } from '../bundled-transfer-argv.ts';
import type { SessionRequest } from './session-request.ts';

/** The umask that the OCI runtime sets for each process that it starts in a container. */
const umaskInside = 0o022;

/**
 * The argv inside the container, as sshd would build it: the user's shell as a login shell, or with the
 * client's command as its one argument (session.c, do_child). Every login shell accepts `-l`.
 *
 * @param umask The login's umask (pam_umask); without this the runtime's own would apply.
 */
export function sessionArgv(
  { kind, command }: SessionRequest,
  inside: { readonly shell: string; readonly hasBundledTools: boolean },
  umask = umaskInside,
): string[] {
  const octal = umask === umaskInside ? undefined : umask.toString(8).padStart(3, '0');
  if (kind === 'sftp' && command !== undefined)
    return sftpArgv(command, inside.hasBundledTools, octal);
  const argv =
    kind === 'shell' || command === undefined
      ? [inside.shell, '-l']
      : [inside.shell, '-c', command];
  return octal === undefined ? argv : ['/bin/sh', '-c', `umask ${octal}; exec "$0" "$@"`, ...argv];
}

function sftpArgv(command: string, bundled: boolean, umask: string | undefined): string[] {
  const [, ...configured] = command.trim().split(/\s+/);
  // The last -u applies: the one from sshd_config, if there is one.
  const options = [...(umask === undefined ? [] : ['-u', umask]), ...configured];
  return bundled
    ? bundledArgv('sftp-server', options)
    : ['/usr/lib/openssh/sftp-server', ...options];
}
