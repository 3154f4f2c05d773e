import { exitClasses, type ErrorCode, type LogCode } from './error-codes.ts';
import { exitCodes } from './exit-codes.ts';
import { sourceText } from '../source-text.ts';

/** What `berth explain CODE` and docs/errors.md say about one code: Markdown in one line, with commands in backticks. */
export interface CatalogueEntry {
  /** What happened. */
  readonly what: string;
  /** The usual causes, the most frequent one first. */
  readonly why: string;
  /** What to do. */
  readonly next: string;
}

export interface CatalogueDomain {
  readonly title: string;
  readonly entries: readonly (CatalogueEntry & {
    readonly code: LogCode;
    /** As `exitText` has it; written on the page for its readers. */
    readonly exit: string;
  })[];
}

const page = sourceText('../../docs/errors.md', import.meta.url);

const entryOfPage =
  /^### (?<code>.+)\n\n(?<what>.+) \((?<exit>.+)\)\n\n\*\*Why:\*\* (?<why>.+)\n\n\*\*What to do:\*\* (?<next>.+)$/gm;

/**
 * All entries by domain: the sections of docs/errors.md. One that does not match is left out here, and
 * test/unit/error-catalogue.test.ts fails.
 */
export const catalogue: readonly CatalogueDomain[] = page
  .split(/^## /m)
  .map((section) => ({
    title: section.split('\n', 1).join(''),
    entries: [...section.matchAll(entryOfPage)].map(
      ({ groups }) => groups as unknown as CatalogueDomain['entries'][number],
    ),
  }))
  .filter(({ entries }) => entries.length > 0);

/** What each exit status of a command, a hook or a session means: the table of docs/errors.md. */
export const exitStatusTexts: readonly (readonly [status: number, meaning: string])[] = [
  ...page.matchAll(/^\| (\d+) +\| (.+?) +\|$/gm),
].map(([, status = '', meaning = '']) => [Number(status), meaning] as const);

/** The exit statuses of an error with this code; none for a warning. */
export function exitStatuses(code: LogCode): number[] {
  return isError(code) ? [exitClasses[code]].flat().map((exit) => exitCodes[exit]) : [];
}

/** `exit status 75`, `exit status 67 or exit status 75`, or `warning`. */
export function exitText(statuses: readonly number[]): string {
  const texts = statuses.map((status) => `exit status ${status}`);
  return texts.length === 0 ? 'warning' : texts.join(' or ');
}

function isError(code: LogCode): code is ErrorCode {
  return code in exitClasses;
}
