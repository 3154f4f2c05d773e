import { exitCodes } from '../exit-codes.ts';
import type { CatalogueEntry, ExitKind } from './entry.ts';

/** `exit status 75`, or `warning`, or both where a code has several. */
export function exitText(exit: CatalogueEntry['exit']): string {
  return [exit]
    .flat()
    .map((kind: ExitKind) => (kind === 'warning' ? kind : `exit status ${exitCodes[kind]}`))
    .join(' or ');
}
