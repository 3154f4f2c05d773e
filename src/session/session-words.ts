import type { SessionRequest } from './session-request.ts';

/** Mounted into each container: what transfers files where the image has nothing for it. */
export const filesInside = '/run/berth/files';

/**
 * What runs inside, as sshd would run it: the user's shell as a login shell, or with the client's
 * command as its one argument (session.c, do_child). All shells of passwd know `-l`.
 */
export function sessionWords(
  { kind, command }: SessionRequest,
  inside: { readonly shell: string; readonly bundledFiles: boolean },
): string[] {
  if (kind === 'shell' || command === undefined) return [inside.shell, '-l'];
  if (kind === 'sftp') return sftpWords(command, inside.bundledFiles);
  return [inside.shell, '-c', command];
}

/** The bundled server runs with its own loader and libraries, whatever the image has. */
function sftpWords(command: string, bundled: boolean): string[] {
  const [, ...options] = command.trim().split(/\s+/);
  const server = bundled
    ? [
        ...[`${filesInside}/ld.so`, '--library-path', `${filesInside}/lib`],
        `${filesInside}/sftp-server.bin`,
      ]
    : ['/usr/lib/openssh/sftp-server'];
  return [...server, ...options];
}
