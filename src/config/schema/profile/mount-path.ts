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
