import type { CheckId } from './check-result.ts';
import { withInstalledPaths } from '../program/installed-path.ts';
import { exitClasses, type ErrorCode, type LogCode } from './error-codes.ts';
import { exitCodes } from './exit-codes.ts';
import { sourceText } from '../program/source-text.ts';

/** What `berth explain` and its page say about one code or check: Markdown in one line, with commands in backticks. */
export interface CatalogueEntry {
  /** What happened; what a check looks at. */
  readonly what: string;
  /** The usual causes, the most frequent one first; what it means if a check fails. */
  readonly why: string;
  /** What to do. */
  readonly next: string;
}

export interface CatalogueDomain<Code> {
  readonly title: string;
  readonly entries: readonly (CatalogueEntry & {
    readonly code: Code;
    /** Of an error code, as `exitText` has it; written on the page for its readers. */
    readonly exit?: string;
  })[];
}

const page = sourceText('../../../docs/errors.md', import.meta.url);

/** All error codes by domain. */
export const catalogue: readonly CatalogueDomain<LogCode>[] = domainsOf(page);

/** The checks of `berth doctor` by domain. */
export const checkCatalogue: readonly CatalogueDomain<CheckId>[] = domainsOf(
  sourceText('../../../docs/checks.md', import.meta.url),
);

/** The sections of a page. One that does not match is left out, and test/unit/error-catalogue.test.ts fails. */
function domainsOf<Code>(text: string): CatalogueDomain<Code>[] {
  const section =
    /^### (?<code>.+)\n\n(?<what>.+?)(?: \((?<exit>exit .+|warning)\))?\n\n\*\*(?:Why|If it fails):\*\* (?<why>.+)\n\n\*\*What to do:\*\* (?<next>.+)$/gm;
  return withInstalledPaths(text)
    .split(/^## /m)
    .map((domain) => ({
      title: domain.split('\n', 1).join(''),
      entries: [...domain.matchAll(section)].map(
        ({ groups }) => groups as unknown as CatalogueDomain<Code>['entries'][number],
      ),
    }))
    .filter(({ entries }) => entries.length > 0);
}

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
