import { countText } from '../../count-text.ts';
import {
  bySeverity,
  type SshdFinding,
  type SshdSeverity,
} from '../../sshd-lint/rules/sshd-finding.ts';
import type { LintedSample, SshdLint } from '../../sshd-lint/lint-sshd.ts';
import { escapedForTerminal } from '../../log.ts';
import { documentText } from '../kit/json-document.ts';

interface Style {
  readonly colour: boolean;
}

const colours: Readonly<Record<SshdSeverity, string>> = { door: '31', weakness: '33', advice: '2' };

/**
 * As text: this host, the Match blocks, then users with the same findings together.
 *
 * @param next what else the admin may want to look at
 */
export function lintText(lint: SshdLint, style: Style, next: readonly string[] = []): string {
  const sections = [
    section('this host', lint.host, style),
    ...lint.matches.map((one) => section(`${one.file}:${one.line}`, [one], style)),
    ...together(lint.samples).map(({ who, findings }) => section(who, findings, style)),
  ].filter((text) => text !== undefined);
  const steps = next.map((step) => `\nnext: ${step}`);
  return `${[...sections, `${totals(lint)}${steps.join('')}`].join('\n\n')}\n`;
}

function section(
  title: string,
  findings: readonly SshdFinding[],
  { colour }: Style,
): string | undefined {
  if (findings.length === 0) return undefined;
  const lines = findings.flatMap(({ severity, code, message, closedBy, place }) => {
    const mark = severity.padEnd(8);
    const shownMark = colour ? `\u001b[${colours[severity]}m${mark}\u001b[0m` : mark;
    return [
      `  ${shownMark} ${code}: ${escapedForTerminal(place === undefined ? message : `${message} (${place})`)}`,
      `${' '.repeat(11)}fix: ${escapedForTerminal(closedBy)}`,
    ];
  });
  return [escapedForTerminal(title), ...lines].join('\n');
}

interface Crowd {
  readonly who: string;
  readonly findings: readonly SshdFinding[];
}

/** Groups samples with the same findings, with a line of whom they concern. */
function together(samples: readonly LintedSample[]): Crowd[] {
  const crowds = Map.groupBy(samples, ({ findings }) => JSON.stringify(findings));
  return [...crowds.values()].map((alike) => {
    const users = Map.groupBy(alike, ({ user }) => user);
    const who = [...users].map(([user, ofUser]) => {
      const all = samples.filter((one) => one.user === user);
      const [first] = ofUser;
      const alike = first?.alike ?? 0;
      const more = alike > 0 ? ` and ${countText(alike, 'similar account')}` : '';
      const name = first?.known === false ? 'any other account' : `${user}${more}`;
      return ofUser.length === all.length ? name : `${name} (${ofUser.map(cameFrom).join('; ')})`;
    });
    return { who: who.join(', '), findings: alike[0]?.findings ?? [] };
  });
}

function cameFrom({ endpoint }: LintedSample): string {
  const { address, localAddress, localPort, host } = endpoint;
  return `from ${address} ${host} to ${localAddress} port ${localPort}`;
}

function totals({ samples, host, matches, leftOut }: SshdLint): string {
  const kinds = new Map<string, SshdSeverity>();
  // A code counts once, with its highest severity.
  const all = bySeverity([...host, ...matches, ...samples.flatMap((s) => s.findings)]);
  for (const { code, severity } of all) if (!kinds.has(code)) kinds.set(code, severity);
  const count = (wanted: SshdSeverity) => [...kinds.values()].filter((s) => s === wanted).length;
  const users = new Set(samples.map(({ user }) => user)).size;
  const line = `doors (users can run code on the host): ${count('door')}, weaknesses: ${count('weakness')}, advice: ${count('advice')}; ${countText(users, 'different account')} and ${countText(samples.length, 'connection')} checked`;
  return leftOut === 0
    ? line
    : `${line}, ${leftOut} not checked: select them with --user, --address or --port`;
}

/** For monitoring. */
export function lintJson(lint: SshdLint, next: readonly string[]): string {
  const all = [...lint.host, ...lint.matches, ...lint.samples.flatMap(({ findings }) => findings)];
  const codes = [...new Set(all.map(({ code }) => code))].sort();
  return documentText('LintReport', { ok: all.length === 0, codes, ...lint, next });
}
