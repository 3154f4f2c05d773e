import type { CatalogueEntry } from './entry.ts';
import { hostErrors } from './host-errors.ts';

/** Every code, by domain, in the order of docs/errors.md. */
export const catalogue: readonly CatalogueDomain[] = [
  { title: 'Command line and host', entries: hostErrors },
];

export interface CatalogueDomain {
  readonly title: string;
  readonly entries: Readonly<Record<string, CatalogueEntry>>;
}
