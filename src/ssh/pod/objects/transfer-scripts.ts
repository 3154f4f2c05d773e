import { sourceText } from '../../../source-text.ts';
import {
  bundledArgv,
  filesInside,
  hostPrograms,
  type BundledProgram,
} from '../../../transfer-tools.ts';

const complete = `${filesInside}/.complete`;

/** Exit code of `programProbe` where the pod has nothing. */
export const nothingThere = 3;

/** Words that look in a pod whether a program is there, the image's or brought. */
export function programProbe(program: BundledProgram): string[] {
  const own = program === 'scp' ? 'command -v scp >/dev/null' : eachServer('[ -x "$p" ]');
  return ['/bin/sh', '-c', `${own} && exit 0; [ -e ${complete} ] || exit ${nothingThere}`];
}

/** The image's sftp-server, wherever its distribution has it; else the one that was brought. */
export function podSftpWords(options: readonly string[]): string[] {
  const run = `${eachServer('[ -x "$p" ]')} && exec "$p" "$@"; exec ${bundledArgv('sftp-server').join(' ')} "$@"`;
  return ['/bin/sh', '-c', run, 'sftp-server', ...options];
}

/** For a shell that looks up scp in PATH: what was brought counts last. */
export const broughtLast = `PATH="$PATH:${filesInside}"; export PATH`;

export interface BroughtFile {
  /** Below the folder, such as `lib/libc.so.6`. */
  readonly name: string;
  /** Bytes. */
  readonly size: number;
}

/**
 * Words that make the files of their concatenation on standard input. Each takes its place in one step:
 * two that bring the same are in nobody's way.
 */
export function unpackWords(files: readonly BroughtFile[]): string[] {
  const script = sourceText('./unpack.sh', import.meta.url);
  const words = files.flatMap(({ name, size }) => [name, String(size)]);
  return ['/bin/sh', '-c', script, filesInside, ...words];
}

/** True in sh(1) where one of the paths passes; `$p` is it. */
function eachServer(test: string): string {
  const paths = hostPrograms['sftp-server'].join(' ');
  return `for p in ${paths} ''; do [ -n "$p" ] || break; ${test} && break; done; [ -n "$p" ]`;
}
