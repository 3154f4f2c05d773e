import { installedPath } from '../../installed-path.ts';
import type { KindUnit } from '../../sshd-kinds/kind.ts';
import { startCommand } from '../../sshd-kinds/rules/kind-problems.ts';
import type { NewKind } from '../../sshd-kinds/new-kind.ts';
import { lintText } from './lint-report.ts';
import { patchText } from '../kit/patch-text.ts';
import { documentText } from '../kit/json-document.ts';

interface NewKindReport {
  readonly made: NewKind;
  readonly unit: KindUnit;
  readonly dryRun: boolean;
  /** Whether this node is drained: systemd would not start the unit. */
  readonly drained: boolean;
}

/** What was written, what the linter found, how to start it and how to go back. */
export function newKindText(report: NewKindReport, style: { readonly colour: boolean }): string {
  const { made, dryRun } = report;
  const { file, change, text, former, lint } = made;
  const parts = [
    headline(report),
    ...(dryRun && change === 'new' ? [text.trimEnd()] : []),
    ...(change === 'changed'
      ? [patchText(file, { before: former?.text ?? '', after: text }, 'former').trimEnd()]
      : []),
    `berth sshd lint --sshd-config ${file}:\n${lintText(lint, style).trimEnd()}`,
    nextSteps(report)
      .map((line) => `next: ${line}`)
      .join('\n'),
  ].filter((part) => part !== '');
  return `${parts.join('\n\n')}\n`;
}

function headline({ made: { file, change, former }, dryRun }: NewKindReport): string {
  if (change === 'unchanged') return `${file} has these contents already`;
  if (dryRun) return `${file} would be ${change === 'new' ? 'made' : 'changed'}`;
  const kept = former?.file === undefined ? '' : `; the former file is ${former.file}`;
  return `${file} was ${change === 'new' ? 'made' : 'changed'}${kept}`;
}

function nextSteps(report: NewKindReport): string[] {
  return report.dryRun ? [] : [...startSteps(report), ...backSteps(report)];
}

function startSteps({ made: { change, kind }, unit, drained }: NewKindReport): string[] {
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

function backSteps({ made: { file, change, former }, unit }: NewKindReport): string[] {
  const service = unit.name.replace(/\.service$/, '');
  if (unit.unit === 'none')
    return change === 'new'
      ? [`go back: rm ${file}, after the sshd was ended (berth sshd list prints its PID)`]
      : former?.file === undefined
        ? []
        : [`go back: mv ${former.file} ${file} && kill -HUP PID`];
  if (change === 'new') return [`go back: systemctl disable --now ${service}; rm ${file}`];
  if (former?.file === undefined) return [];
  return [`go back: mv ${former.file} ${file} && systemctl reload ${service}`];
}

/** For scripts. */
export function newKindJson(report: NewKindReport): string {
  const { made, unit, dryRun, drained } = report;
  const { kind: settings, ...rest } = made;
  const next = nextSteps(report);
  return documentText('SshdKind', { dryRun, ...rest, settings, unit, drained, next });
}
