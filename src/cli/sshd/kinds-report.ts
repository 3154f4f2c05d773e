import type { InspectedKind } from '../../sshd-kinds/inspect-kind.ts';
import { endpointText } from '../../sshd-kinds/rules/sshd-endpoints.ts';
import { escapedForTerminal } from '../../log.ts';
import { documentText } from '../kit/json-document.ts';

/** A table of the kinds, then their problems. */
export function kindsText(kinds: readonly InspectedKind[]): string {
  if (kinds.length === 0) return 'no kinds of session: `berth sshd new` makes one\n';
  const rows = [
    ['NAME', 'LISTENS', 'PROFILE', 'STATE', 'HOST KEYS'],
    ...kinds.map((kind) => [
      kind.name,
      kind.endpoints.map(endpointText).join(' '),
      kind.profile ?? '(ssh.yml)',
      stateText(kind),
      kind.hostKeys.map(({ fingerprint }) => fingerprint).join(' '),
    ]),
  ];
  const widths = [0, 1, 2, 3].map((column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const table = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const problems = kinds.flatMap(({ name, problems: found }) =>
    found.flatMap(({ code, message, next }) => [
      `${name}: ${message} [${code}]`,
      `${' '.repeat(name.length + 2)}next: ${next}`,
    ]),
  );
  const drained = kinds.some((kind) => kind.drained)
    ? ['this node is drained (/etc/berth/drain): `berth node undrain` starts its listeners']
    : [];
  const lines = [table, drained, problems].flatMap((part, index) =>
    part.length === 0 ? [] : [...(index === 0 ? [] : ['']), ...part],
  );
  return `${lines.map((line) => escapedForTerminal(line)).join('\n')}\n`;
}

function stateText({ unit, pid, drained }: InspectedKind): string {
  if (unit.unit === 'none') return pid === undefined ? 'not running' : `running (PID ${pid})`;
  const state = drained && unit.active === 'inactive' ? 'drained' : unit.active;
  return `${state}, ${unit.enabled ? 'enabled' : 'not enabled'}`;
}

/** For scripts. */
export function kindsJson(kinds: readonly InspectedKind[]): string {
  const ok = kinds.every(({ problems }) => problems.length === 0);
  return documentText('SshdKindList', { ok, kinds });
}
