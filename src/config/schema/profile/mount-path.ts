import { runDir } from '../default-settings.ts';

/** Characters that podman interprets in mount options: it separates with `:` and `,`, and reads quotes and newlines. */
const readByPodman = /[:,"'\\\p{Cc}]/u;

/**
 * Why a text is not an absolute path that can be used in a mount unchanged, as the end of a sentence; undefined if it
 * is one. A slash at the end is allowed.
 */
export function pathProblem(text: string): string | undefined {
  if (!text.startsWith('/')) return 'must be an absolute path';
  if (readByPodman.test(text)) return 'must not contain `:`, `,`, quotes or control characters';
  if (/\/\.{0,2}(?:\/|$)/.test(withoutTrailingSlash(text)))
    return 'must be a path without `..`, `.` and `//`';
  return undefined;
}

export function withoutTrailingSlash(path: string): string {
  return path.replace(/(?<=.)\/$/, '');
}

/**
 * Directories that must not be mounted into sessions: files there start programs on the host (podman's state, the
 * user's service manager) or decide who may do what.
 */
const always = ['/etc/berth', runDir, '/run/user'];

/**
 * Why a directory of the host must not be mounted, as the end of a sentence; undefined if it may be. Called for the
 * templates in a profile, and again for each mount after they are filled.
 *
 * @param source Absolute path without `..`; symbolic links are not resolved.
 * @param storage The site's storage, if known.
 */
export function mountProblem(source: string, storage?: string): string | undefined {
  if (/^\/*$/.test(source)) return 'is the root directory of the host';
  const forbidden = storage === undefined ? always : [...always, storage];
  const exposed = forbidden.find((path) => isWithin(source, path) || isWithin(path, source));
  return exposed === undefined ? undefined : `exposes ${exposed}, which sessions must not reach`;
}

/** Whether a path is the directory or lies below it. */
export function isWithin(path: string, directory: string): boolean {
  return `${trimmed(path)}/`.startsWith(`${trimmed(directory)}/`);
}

function trimmed(path: string): string {
  return path.replace(/\/+$/, '');
}
