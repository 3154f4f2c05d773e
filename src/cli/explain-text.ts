import { nearestKey } from '../config/nearest-key.ts';
import {
  catalogue,
  exitStatuses,
  exitText,
  type CatalogueEntry,
} from '../error-catalogue/catalogue.ts';
import { type CheckId, checkTexts } from '../error-catalogue/check-texts.ts';
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
  readonly code: LogCode | SshdFindingCode | CheckId;
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

const ofDoctor = 'Checks of berth doctor';

const checks: readonly Explanation[] = Object.entries(checkTexts).map(([code, text]) => ({
  ...text,
  ...{ code: code as CheckId, domain: ofDoctor, exit_status: [] },
}));

const all = [...errors, ...findings, ...checks];

/**
 * The explanations of one code, or of all.
 *
 * @param wanted As in a log line: `CODE`, `code=CODE` or `[CODE]`; `check:NAME` for a check that has the name of a key.
 * @param alsoKnown what else could have been meant
 * @throws {BerthError} `usage`, with the nearest word that is known
 */
export function explanations(
  wanted: string | undefined,
  alsoKnown: readonly string[] = [],
): readonly Explanation[] {
  if (wanted === undefined) return all;
  const code = wanted.replace(/^code=|^check:|^\[|\]$/g, '');
  const among = wanted.startsWith('check:') ? checks : all;
  const found = among.filter((entry) => entry.code === code);
  if (found.length > 0) return found;
  const near = nearestKey(code, [...all.map((entry) => entry.code), ...alsoKnown]);
  throw new BerthError(
    `there is no error code, no check of berth doctor and no key of the configuration ${code}${near === undefined ? '' : `; did you mean ${near}?`}`,
    {
      code: 'usage',
      hint: '`berth explain` lists all codes, and `berth explain berth.yml` the keys of a file.',
    },
  );
}

/** Whether a word that is a key of the configuration is a code or a check, too. */
export function isExplained(word: string): boolean {
  return all.some(({ code }) => code === word);
}

/** A code in full, and a check of the same name; of several, the codes by domain with what each means. */
export function explainText(found: readonly Explanation[]): string {
  if (new Set(found.map(({ code }) => code)).size === 1) return found.map(oneText).join('\n');
  return [...Map.groupBy(found, ({ domain }) => domain)]
    .map(([domain, ofDomain]) =>
      [domain, ...ofDomain.map(({ code, what }) => wrapped(`${code}: ${what}`, '  ', '      '))]
        .map((text) => `${text}\n`)
        .join(''),
    )
    .join('\n');
}

function oneText({ code, domain, what, why, next }: Explanation): string {
  const exit = isFindingCode(code)
    ? 'a finding'
    : domain === ofDoctor
      ? 'a check'
      : exitText(code as LogCode);
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
