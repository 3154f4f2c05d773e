import type { LogCode } from '../error-codes.ts';

/** What `berth explain CODE` and docs/errors.md say about one code. Plain text; commands in backticks. */
export interface CatalogueEntry {
  /** What happened. */
  readonly what: string;
  /** The usual causes, the most frequent one first. */
  readonly why: string;
  /** What to do. */
  readonly next: string;
}

export type CatalogueEntries = Readonly<Partial<Record<LogCode, CatalogueEntry>>>;
