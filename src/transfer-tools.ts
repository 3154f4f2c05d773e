/** Mounted into each container: what transfers files where the image has nothing for it. */
export const filesInside = '/run/berth/files';

/** What transfers files where the image has nothing for it. */
export type BundledProgram = 'sftp-server' | 'scp';

/**
 * The words that run a bundled program inside any image, one without libc and shell too: the host's own
 * loader is told where its libraries are, and nothing of the image is asked (ld.so(8)).
 */
export function bundledArgv(program: BundledProgram, options: readonly string[] = []): string[] {
  const loader = [`${filesInside}/ld.so`, '--library-path', `${filesInside}/lib`];
  return [...loader, '--argv0', program, `${filesInside}/${program}.bin`, ...options];
}

/** The same as a script, for a command line that a shell of the image looks up in PATH. */
export function bundledScript(program: BundledProgram): string {
  return `#!/bin/sh\nexec ${bundledArgv(program).join(' ')} "$@"\n`;
}

/** Where distributions have them, the first that is there counts. */
export const hostPrograms: Readonly<Record<BundledProgram, readonly string[]>> = {
  'sftp-server': [
    '/usr/lib/openssh/sftp-server',
    '/usr/libexec/openssh/sftp-server',
    '/usr/lib/ssh/sftp-server',
  ],
  scp: ['/usr/bin/scp'],
};

/** The loader and the libraries that ldd(1) lists, absolute; the vDSO is the kernel's. */
export function parseLdd(output: string): {
  readonly loader?: string;
  readonly libraries: string[];
} {
  const paths = output
    .split('\n')
    .flatMap((line) => /^\s+(?:\S+ => )?(\/\S+) \(0x[0-9a-f]+\)$/.exec(line)?.[1] ?? []);
  const loader = paths.find((path) => /\/ld[^/]*\.so[.0-9]*$/.test(path));
  const libraries = paths.filter((path) => path !== loader);
  return { libraries, ...(loader === undefined ? {} : { loader }) };
}
