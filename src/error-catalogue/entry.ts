import type { ExitClass } from '../exit-codes.ts';

export type ExitKind = ExitClass | 'warning';

/** What `berth explain CODE` and docs/errors.md say about one code. Plain text; commands in backticks. */
export interface CatalogueEntry {
  /** `warning`: a line in the log, and the program continues. */
  readonly exit: ExitKind | readonly ExitKind[];
  /** What happened. */
  readonly what: string;
  /** The usual causes, the most frequent one first. */
  readonly why: string;
  /** What to do. */
  readonly next: string;
}

export type CatalogueEntries = Readonly<Record<string, CatalogueEntry>>;
