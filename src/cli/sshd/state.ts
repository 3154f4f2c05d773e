import { resolve } from 'node:path';
import type { InspectedKind } from '../../setup/sshd-kinds/inspect-kind.ts';
import { endpointText } from '../../system/tcp-table.ts';
import { command } from '../kit/command.ts';
import { text, words } from '../kit/options.ts';
import { configDirOption, overlayOf } from '../kit/site-options.ts';
import { withProgress } from '../kit/progress.ts';
import { escapedLines, textTable } from '../kit/text.ts';

const balancerFile = '/etc/berth/balancer.yml';

/** `berth sshd list`: the kinds of session of this host. */
export const listCommand = command({
  command: 'list',
  describe: 'List the kinds of session of this host, with port, profile, state and host keys',
  examples: [['berth sshd list', 'One line for each kind, and its problems']],
  epilogue: 'Exit status: 0, also if there are problems.',
  run: async (_args, { stdout, now }) => {
    const { listKinds } = await import('../../setup/sshd-kinds/check-kinds.ts');
    const found = await listKinds({ now: now(), hostname: await hostname() });
    stdout.write(kindsText(found));
  },
});

/** `berth sshd check`: everything that can be wrong with a kind. */
export const checkCommand = command({
  command: 'check [name..]',
  describe: 'Check kinds of session: linter, sshd -t, unit, port, certificates, loaded settings',
  positionals: { name: words('sshd-kind', 'Kinds [default: all]') },
  options: {
    ...configDirOption,
    sshd: text('file', 'Path of sshd', { default: '/usr/sbin/sshd' }),
  },
  examples: [['berth sshd check podman', 'Check one kind after its file was edited']],
  epilogue:
    'Needs root. Exit status: 0 no problem, 1 a problem, more than 1 the check could not run (sysexits(3)). Nothing is changed.',
  run: async (args, terminal) => {
    const { checkKinds } = await import('../../setup/sshd-kinds/check-kinds.ts');
    const overlay = (await overlayOf(args))?.resolve;
    const about = { now: terminal.now(), hostname: await hostname() };
    const checked = await withProgress(
      terminal,
      () => 'waiting for sshd',
      () =>
        checkKinds({
          ...about,
          names: args.name ?? [],
          sshd: resolve(args.sshd),
          settings: '/etc/berth/ssh.yml',
          overlay,
        }),
    );
    terminal.stdout.write(kindsText(checked));
    if (checked.some(({ problems }) => problems.length > 0)) return 1;
    if (checked.length > 0) terminal.stdout.write('\nno problem was found\n');
    return 0;
  },
});

async function hostname(): Promise<string | undefined> {
  const { balancerHostname } = await import('../../setup/sshd-kinds/check-kinds.ts');
  return balancerHostname(balancerFile);
}

/** A table of the kinds, then their problems. */
export function kindsText(kinds: readonly InspectedKind[]): string {
  if (kinds.length === 0) return 'no kinds of session: `berth sshd new` makes one\n';
  const rows = kinds.map((kind) => [
    kind.name,
    kind.endpoints.map(endpointText).join(' '),
    kind.profile ?? '(ssh.yml)',
    stateText(kind),
    kind.hostKeys.map(({ fingerprint }) => fingerprint).join(' '),
  ]);
  const table = textTable(['NAME', 'LISTENS', 'PROFILE', 'STATE', 'HOST KEYS'], rows);
  const problems = kinds.flatMap(({ name, problems: found }) =>
    found.flatMap(({ code, message, next }) => [
      `${name}: ${message} [${code}]`,
      `${' '.repeat(name.length + 2)}next: ${next}`,
    ]),
  );
  const drained = kinds.some((kind) => kind.drained)
    ? ['this node is drained (/etc/berth/drain): `berth node undrain` starts its listeners']
    : [];
  const more = [drained, problems].flatMap((part) => (part.length === 0 ? [] : ['', ...part]));
  return `${table}${escapedLines(more)}`;
}

function stateText({ unit, pid, drained }: InspectedKind): string {
  if (unit.unit === 'none') return pid === undefined ? 'not running' : `running (PID ${pid})`;
  const state = drained && unit.active === 'inactive' ? 'drained' : unit.active;
  return `${state}, ${unit.enabled ? 'enabled' : 'not enabled'}`;
}
