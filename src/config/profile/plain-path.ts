/** Podman separates a mount's fields with `:` and `,`, and reads quotes and newlines. */
const readByPodman = /[:,"'\\\p{Cc}]/u;

/**
 * Why a text is no absolute path that can be part of a mount and means just what it says, as the end
 * of a sentence. A slash at its end is let be.
 */
export function pathProblem(text: string): string | undefined {
  if (!text.startsWith('/')) return 'must be an absolute path';
  if (readByPodman.test(text)) return 'must have no `:`, `,`, quotes or control characters';
  if (/\/\.{0,2}(?:\/|$)/.test(withoutSlash(text)))
    return 'must be a path without `..`, `.` and `//`';
  return undefined;
}

export function withoutSlash(path: string): string {
  return path.replace(/(?<=.)\/$/, '');
}
