import { nearestKey } from '../config/nearest-key.ts';
import {
  catalogue,
  exitStatuses,
  exitText,
  type CatalogueEntry,
} from '../error-catalogue/catalogue.ts';
import type { LogCode } from '../error-codes.ts';
import { BerthError } from '../errors.ts';
import { findingTexts } from '../sshd-lint/rules/finding-texts.ts';
import {
  isFindingCode,
  sshdFindingCodes,
  type SshdFindingCode,
} from '../sshd-lint/rules/sshd-finding.ts';
import { documentText } from './json-document.ts';
import { wrapped } from './wrapped-text.ts';

export interface Explanation extends CatalogueEntry {
  readonly code: LogCode | SshdFindingCode;
  /** Empty for a code that only warns. */
  readonly exit_status: readonly number[];
  readonly domain: string;
}

const errors: readonly Explanation[] = catalogue.flatMap(({ title, entries }) =>
  entries.map((entry) => ({
    ...entry,
    domain: title,
    exit_status: exitStatuses(entry.code),
  })),
);

const findings: readonly Explanation[] = sshdFindingCodes.map((code) => ({
  ...{ code, domain: 'The linter of sshd', exit_status: [] },
  what: `What is open: ${findingTexts[code].opens}.`,
  why: 'A line of sshd’s configuration or of PAM, or a file of this host. `berth sshd lint` names it, and for which accounts.',
  next: `Closed by: ${findingTexts[code].closedBy}.`,
}));

const all = [...errors, ...findings];

/**
 * The explanations of one code, or of all.
 *
 * @param wanted As in a log line: `CODE`, `code=CODE` or `[CODE]`.
 * @param alsoKnown what else could have been meant
 * @throws {BerthError} `usage`, with the nearest word that is known
 */
export function explanations(
  wanted: string | undefined,
  alsoKnown: readonly string[] = [],
): readonly Explanation[] {
  if (wanted === undefined) return all;
  const code = wanted.replace(/^code=|^\[|\]$/g, '');
  const found = all.filter((entry) => entry.code === code);
  if (found.length > 0) return found;
  const near = nearestKey(code, [...all.map((entry) => entry.code), ...alsoKnown]);
  throw new BerthError(
    `there is no error code and no key of the configuration ${code}${near === undefined ? '' : `; did you mean ${near}?`}`,
    {
      code: 'usage',
      hint: '`berth explain` lists all codes, and `berth explain berth.yml` the keys of a file. Checks of `berth doctor` have their next step in their own output.',
    },
  );
}

/** One explanation in full; of several, the codes by domain with what each means. */
export function explainText(found: readonly Explanation[]): string {
  const [first, another] = found;
  if (first !== undefined && another === undefined) return oneText(first);
  return [...Map.groupBy(found, ({ domain }) => domain)]
    .map(([domain, ofDomain]) =>
      [domain, ...ofDomain.map(({ code, what }) => wrapped(`${code}: ${what}`, '  ', '      '))]
        .map((text) => `${text}\n`)
        .join(''),
    )
    .join('\n');
}

function oneText({ code, domain, what, why, next }: Explanation): string {
  const exit = isFindingCode(code) ? 'a finding' : exitText(code);
  const parts = [
    `${code} (${exit}; ${domain})`,
    wrapped(what),
    `Why:\n${wrapped(why, '  ')}`,
    `What to do:\n${wrapped(next, '  ')}`,
  ];
  return `${parts.join('\n\n')}\n`;
}

/** For scripts. `exit_status` is empty for a code that only warns. */
export function explainJson(found: readonly Explanation[]): string {
  const codes = found.map(({ code, domain, exit_status, what, why, next }) => ({
    code,
    domain,
    exit_status,
    what,
    why,
    next,
  }));
  return documentText('ErrorCodes', { codes });
}
