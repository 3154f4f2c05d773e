import { countText } from '../../system/text/count-text.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { escapedForTerminal } from '../../log.ts';
import type { KindUnit } from '../../setup/sshd-kinds/kind.ts';
import type { NewKind } from '../../setup/sshd-kinds/new-kind.ts';
import { startCommand } from '../../setup/sshd-kinds/rules/kind-problems.ts';
import { allFindings, type LintedSample, type SshdLint } from '../../setup/sshd-lint/lint-sshd.ts';
import type { SshdFinding, SshdSeverity } from '../../setup/sshd-lint/rules/sshd-finding.ts';
import { fileDiff } from '../kit/file-diff.ts';
import { documentText } from '../kit/terminal.ts';

interface Style {
  readonly colour: boolean;
}

const colours: Readonly<Record<SshdSeverity, string>> = {
  critical: '31',
  weakness: '33',
  advice: '2',
};

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
  const all = [...host, ...matches, ...samples.flatMap((s) => s.findings)];
  // A code counts once for each of its severities, which differ between users.
  const count = (wanted: SshdSeverity) =>
    new Set(all.flatMap(({ code, severity }) => (severity === wanted ? code : []))).size;
  const users = new Set(samples.map(({ user }) => user)).size;
  const line = `critical (users can run code on the host): ${count('critical')}, weaknesses: ${count('weakness')}, advice: ${count('advice')}; ${countText(users, 'different account')} and ${countText(samples.length, 'connection')} checked`;
  return leftOut === 0
    ? line
    : `${line}, ${leftOut} not checked: select them with --user, --address or --port`;
}

/** For monitoring. */
export function lintJson(lint: SshdLint, next: readonly string[]): string {
  const all = allFindings(lint);
  const codes = [...new Set(all.map(({ code }) => code))].sort();
  return documentText('LintReport', { ok: all.length === 0, codes, ...lint, next });
}

interface NewKindReport {
  readonly made: NewKind;
  readonly unit: KindUnit;
  readonly dryRun: boolean;
  /** Whether this node is drained: systemd would not start the unit. */
  readonly drained: boolean;
}

/** What was written, what the linter found, how to start it and how to undo it. */
export function newKindText(report: NewKindReport, style: { readonly colour: boolean }): string {
  const { made, dryRun } = report;
  const { file, change, text, former, lint } = made;
  const parts = [
    headline(report),
    ...(dryRun && change === 'new' ? [text.trimEnd()] : []),
    ...(change === 'changed'
      ? [fileDiff(file, { before: former?.text ?? '', after: text }, 'former').trimEnd()]
      : []),
    `berth sshd lint --sshd-config ${file}:\n${lintText(lint, style).trimEnd()}`,
    startSteps(report)
      .map((line) => `next: ${line}`)
      .join('\n'),
    ...undoSteps(report).map((line) => `to undo it:\n  ${line}`),
  ].filter((part) => part !== '');
  return `${parts.join('\n\n')}\n`;
}

function headline({ made: { file, change, former }, dryRun }: NewKindReport): string {
  if (change === 'unchanged') return `${file} has these contents already`;
  if (dryRun) return `${file} would be ${change === 'new' ? 'made' : 'changed'}`;
  const kept = former?.file === undefined ? '' : `; the former file is ${former.file}`;
  return `${file} was ${change === 'new' ? 'made' : 'changed'}${kept}`;
}

function startSteps({ made: { change, kind }, unit, dryRun, drained }: NewKindReport): string[] {
  if (dryRun) return [];
  const template = installedPath('share/etc/systemd/berth-sshd@.service');
  const install =
    unit.unit === 'absent'
      ? [`cp ${template} /etc/systemd/system/ && systemctl daemon-reload`]
      : [];
  const service = unit.name.replace(/\.service$/, '');
  if (unit.unit === 'none')
    return change === 'unchanged'
      ? []
      : [
          change === 'new'
            ? `start it: ${startCommand(kind.name)}`
            : `use it: kill -HUP PID, with the PID that berth sshd list prints (open sessions continue)`,
        ];
  if (unit.active !== 'active' && drained)
    return [
      ...install,
      `this node is drained; after \`berth node undrain\`: systemctl enable --now ${service}`,
    ];
  if (unit.active !== 'active') return [...install, `start it: systemctl enable --now ${service}`];
  return change === 'unchanged'
    ? []
    : [`use it: systemctl reload ${service} (open sessions continue)`];
}

function undoSteps({ made: { file, change, former }, unit, dryRun }: NewKindReport): string[] {
  const service = unit.unit === 'none' ? undefined : unit.name.replace(/\.service$/, '');
  if (dryRun) return [];
  if (change === 'new')
    return service === undefined
      ? [`rm ${file} # after ending its sshd, whose PID berth sshd list prints`]
      : [`systemctl disable --now ${service}; rm ${file}`];
  const reload = service === undefined ? 'kill -HUP PID' : `systemctl reload ${service}`;
  return former?.file === undefined ? [] : [`mv ${former.file} ${file} && ${reload}`];
}
