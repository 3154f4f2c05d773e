/** Directory in each container with programs for file transfer, for images that have none. */
export const transferToolsDir = '/run/berth/files';

/** A program for file transfer that Berth provides for images without it. */
export type BundledProgram = 'sftp-server' | 'scp';

/**
 * The argv that runs a bundled program in any image, even one without libc and shell: the host's own loader is told where
 * its libraries are (ld.so(8)), and nothing of the image is used.
 */
export function bundledArgv(program: BundledProgram, options: readonly string[] = []): string[] {
  const loader = [`${transferToolsDir}/ld.so`, '--library-path', `${transferToolsDir}/lib`];
  return [...loader, '--argv0', program, `${transferToolsDir}/${program}.bin`, ...options];
}

/** A script that runs a bundled program, for a shell in the image that looks it up in PATH. */
export function bundledScript(program: BundledProgram): string {
  return `#!/bin/sh\nexec ${bundledArgv(program).join(' ')} "$@"\n`;
}

/** Paths of the programs on the host. The first one that exists is used. */
export const hostPrograms: Readonly<Record<BundledProgram, readonly string[]>> = {
  'sftp-server': [
    '/usr/lib/openssh/sftp-server',
    '/usr/libexec/openssh/sftp-server',
    '/usr/lib/ssh/sftp-server',
  ],
  scp: ['/usr/bin/scp'],
};
