import { BerthError } from '../../system/errors/berth-error.ts';
import {
  type CatalogueEntry,
  catalogue,
  checkCatalogue,
  exitStatuses,
  exitText,
} from '../../system/errors/catalogue.ts';
import { withInstalledPaths } from '../../system/program/installed-path.ts';
import { sourceText } from '../../system/program/source-text.ts';
import { type ConfigurationKey, configurationKeys, keysInside } from '../kit/configuration-keys.ts';
import { wrapped } from '../../system/text/wrapped-text.ts';
import { didYouMean } from '../kit/usage-text.ts';

export interface Explanation extends CatalogueEntry {
  readonly type: 'error' | 'warning' | 'finding' | 'check';
  readonly code: string;
  readonly domain: string;
  /** Of an error. */
  readonly exit_status: readonly number[];
}

const errors = catalogue.flatMap(({ title, entries }) =>
  entries.map(({ code, what, why, next }): Explanation => {
    const exit_status = exitStatuses(code);
    const type = exit_status.length > 0 ? 'error' : 'warning';
    return { type, code, domain: title, exit_status, what, why, next };
  }),
);

const sshdPage = withInstalledPaths(sourceText('../../../docs/ssh-sshd.md', import.meta.url));

/** The table of docs/ssh-sshd.md: code, what is open, closed by. */
const findings = [...sshdPage.matchAll(/^\| `([a-z\d-]+)` +\| (.+?) +\| (.+?) +\|$/gm)].map(
  ([, code = '', opens = '', closedBy = '']): Explanation => ({
    type: 'finding',
    code,
    domain: 'Findings of berth sshd lint',
    exit_status: [],
    what: `What is open: ${opens.replaceAll('\\|', '|')}.`,
    why: "The cause is a line in sshd's or PAM's configuration, or a file on this host. `berth sshd lint` names it and the accounts it affects.",
    next: `${closedBy.charAt(0).toUpperCase()}${closedBy.slice(1)}.`,
  }),
);

const checks = checkCatalogue.flatMap(({ entries }) =>
  entries.map(({ code, what, why, next }): Explanation => {
    return {
      type: 'check',
      code,
      domain: 'Checks of berth doctor',
      exit_status: [],
      what,
      why,
      next,
    };
  }),
);

const all: readonly Explanation[] = [...errors, ...findings, ...checks];

/** @param wanted As in a log line: `CODE`, `code=CODE` or `[CODE]`; `check:NAME` for a check only; all without it. */
export function explained(wanted: string | undefined): readonly Explanation[] {
  if (wanted === undefined) return all;
  const code = codeIn(wanted);
  return candidates(wanted).filter((entry) => entry.code === code);
}

/**
 * The explanations of one code, or of all.
 *
 * @param wanted as in `explained`
 * @param alsoKnown what else could have been meant
 * @throws {BerthError} `usage`, with the nearest word that is known
 */
export function explanations(
  wanted: string | undefined,
  alsoKnown: readonly string[] = [],
): readonly Explanation[] {
  const found = explained(wanted);
  if (wanted === undefined || found.length > 0) return found;
  const codes = candidates(wanted).map(({ code }) => code);
  const [what, known] = isCheck(wanted)
    ? ['check', codes]
    : ['code, check or configuration key:', [...codes, ...alsoKnown]];
  const code = codeIn(wanted);
  throw new BerthError('usage', `unknown ${what} ${code}${didYouMean(code, known)}`, {
    hint: '`berth explain` lists all codes, and `berth explain berth.yml` the keys of a file.',
  });
}

function isCheck(wanted: string): boolean {
  return wanted.startsWith('check:');
}

function candidates(wanted: string): readonly Explanation[] {
  return isCheck(wanted) ? checks : all;
}

function codeIn(wanted: string): string {
  return wanted.replace(/^code=|^check:|^\[|\]$/g, '');
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

function oneText(explanation: Explanation): string {
  const { type, code, what, why, next } = explanation;
  const parts = [
    `${code} (${headingOf(explanation)})`,
    wrapped(what),
    `${type === 'check' ? 'If it fails' : 'Why'}:\n${wrapped(why, '  ')}`,
    `What to do:\n${wrapped(next, '  ')}`,
  ];
  return `${parts.join('\n\n')}\n`;
}

function headingOf({ type, domain, exit_status }: Explanation): string {
  switch (type) {
    case 'finding':
      return 'finding of berth sshd lint';
    case 'check':
      return 'check of berth doctor';
    case 'error':
    case 'warning':
      return `${exitText(exit_status)}; ${domain}`;
  }
}

/** Each key with its meaning, and with what is below it. Keys that mean the same are explained once. */
export function keysText(found: readonly ConfigurationKey[]): string {
  const same = Map.groupBy(found, ({ file, description }) => `${file}\n${description}`);
  return [...same.values()].map((keys) => keyText(keys)).join('\n');
}

function keyText(keys: readonly ConfigurationKey[]): string {
  const [first] = keys;
  if (first === undefined) return '';
  const { path, key, type, required, description } = first;
  const below = keysInside(first);
  const parts = [
    `FILE: ${path}${key === '' ? '' : `\nKEY:  ${keys.map((one) => one.key).join(', ')} <${type}>${required ? ', required' : ''}`}`,
    ...description.split('\n\n').map((paragraph) => wrapped(paragraph)),
    ...(below.length === 0 ? [] : [`KEYS:\n${below.map((one) => lineOf(one, key)).join('\n')}`]),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** A key below another, with the first sentence of its meaning. */
function lineOf({ key, description }: ConfigurationKey, below: string): string {
  const name = below === '' ? key : key.slice(below.length + 1);
  const [sentence = ''] = /^.*?\.(?=\s|$)/.exec(description) ?? [];
  return wrapped(`${name}: ${sentence}`, '  ', '      ');
}

/** Names that can follow `berth explain`: the files, and all keys. */
export function keyNames(): string[] {
  return [...new Set(configurationKeys.map(({ file, key }) => (key === '' ? file : key)))];
}
