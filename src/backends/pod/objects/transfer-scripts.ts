import { sourceText } from '../../../source-text.ts';
import {
  bundledArgv,
  transferToolsDir,
  hostPrograms,
  type BundledProgram,
} from '../../../bundled-transfer-argv.ts';

const complete = `${transferToolsDir}/.complete`;

/** Exit code of `probeArgv` if the pod does not have the program. */
export const notInstalled = 3;

/** The argv that checks whether the pod has a program, from the image or installed. */
export function probeArgv(program: BundledProgram): string[] {
  const own = program === 'scp' ? 'command -v scp >/dev/null' : eachServer('[ -x "$p" ]');
  return ['/bin/sh', '-c', `${own} && exit 0; [ -e ${complete} ] || exit ${notInstalled}`];
}

/** The argv that runs the image's sftp-server, wherever its distribution installs it, or the one that Berth installed. */
export function sftpServerArgv(options: readonly string[]): string[] {
  const run = `${eachServer('[ -x "$p" ]')} && exec "$p" "$@"; exec ${bundledArgv('sftp-server').join(' ')} "$@"`;
  return ['/bin/sh', '-c', run, 'sftp-server', ...options];
}

/** For a shell that looks up scp in PATH: the installed programs come last. */
export const appendInstalledTools = `PATH="$PATH:${transferToolsDir}"; export PATH`;

export interface UnpackedFile {
  /** Relative path, such as `lib/libc.so.6`. */
  readonly name: string;
  /** Bytes. */
  readonly size: number;
}

/**
 * The argv that creates files from their concatenation on standard input. Each file is replaced atomically, so two logins
 * may do it at the same time.
 */
export function unpackArgv(files: readonly UnpackedFile[]): string[] {
  const script = sourceText('./unpack.sh', import.meta.url);
  const words = files.flatMap(({ name, size }) => [name, String(size)]);
  return ['/bin/sh', '-c', script, transferToolsDir, ...words];
}

/** A shell command that succeeds if one of the paths passes the test; `$p` is that path. */
function eachServer(test: string): string {
  const paths = hostPrograms['sftp-server'].join(' ');
  return `for p in ${paths} ''; do [ -n "$p" ] || break; ${test} && break; done; [ -n "$p" ]`;
}
