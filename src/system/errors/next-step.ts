import { withInstalledPaths } from '../program/installed-path.ts';
import { sourceText } from '../program/source-text.ts';
import type { LogCode } from './error-codes.ts';

/** What docs/errors.md says to do after an error or a warning with this code, in one line. */
export function nextStep(code: LogCode): string {
  const page = sourceText('../../../docs/errors.md', import.meta.url, '### |**What to do:** ');
  const [, next = ''] = page.split(`### ${code}\n**What to do:** `);
  return withInstalledPaths(next.split('\n', 1).join(''));
}
