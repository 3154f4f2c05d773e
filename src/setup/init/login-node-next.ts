import { existsSync } from 'node:fs';
import { expectBerthError } from '../../system/errors/berth-error.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { hasSystemd } from '../../system/systemd-units.ts';
import type { AccountState } from './account-state.ts';
import { startCommand } from '../sshd-kinds/rules/kind-problems.ts';
import { hostConfig, kindFile } from '../sshd-kinds/kind.ts';
import { runningSshds } from '../sshd-kinds/running-sshds.ts';
import { noOverrides } from '../sshd-lint/lint-connections.ts';
import { lintSshd } from '../sshd-lint/lint-sshd.ts';
import { kindName, sshYml } from './login-node-profile.ts';
import type { LoginNodeAnswers } from './login-node-answers.ts';
import type { UnitsToStart } from './unit-steps.ts';

/** What an admin of a login node does after `berth init` in any case, one line each. */
export function loginNodeNext(answers: LoginNodeAnswers, { elsewhere }: AccountState): string[] {
  const { mode } = answers;
  const shell = installedPath('shell/login');
  return [
    ...(answers.backend === 'podman' ? imageLines(answers) : []),
    ...(answers.backend === 'slurm' ? computeNodeLines() : []),
    ...elsewhere.map((name) =>
      mode === 'forced'
        ? `${name} is in a directory service: make the account a member of the group berth there`
        : `${name} is in a directory service: set loginShell ${shell} and the group berth there`,
    ),
  ];
}

/** How users get sessions then. */
export function loginNodeStart(
  answers: LoginNodeAnswers,
  { sshd, always, withSshd }: UnitsToStart,
): string[] {
  const { users, port, addresses, start } = answers;
  const [address = 'THIS-HOST'] = addresses.filter((one) => !/^(?:0\.0\.0\.0|::)$/.test(one));
  const isRunning = runningSshds().some(({ config }) => config === kindFile(kindName));
  return [
    ...(hasSystemd()
      ? start
        ? []
        : [`start it: systemctl enable --now ${[sshd, ...always, ...withSshd].join(' ')}`]
      : isRunning
        ? []
        : [`start it: ${startCommand(kindName)}; run ${cronCommands(answers)} from cron`]),
    ...(users.length > 0 ? [] : ['let users log in: berth init login-node --user NAME']),
    `try it: ssh -p ${port} ${users[0] ?? 'USER'}@${address}`,
  ];
}

/** What the linter says of the host's own sshd, which init does not change. */
export async function hostSshdNext(users: readonly string[]): Promise<string[]> {
  if (!existsSync(hostConfig)) return [];
  if (users.length === 0)
    return ["for users of sessions, check the host's own sshd, too: berth sshd lint --user NAME"];
  const ways = `(all: berth sshd lint --user ${users.join(' ')})`;
  try {
    const { samples } = await lintSshd({
      config: hostConfig,
      sshd: '/usr/sbin/sshd',
      login: installedPath('shell/login'),
      settings: sshYml,
      ...noOverrides,
      users,
    });
    return samples.flatMap(({ user, findings }) => {
      const found = findings.find(({ severity }) => severity === 'critical');
      return found === undefined
        ? []
        : `what ${user} can do at the host's own sshd, outside of sessions: ${found.message} ${ways}; keep such users out there, for example with DenyGroups in ${hostConfig}, or, below a Match of these users: ${found.closedBy}`;
    });
  } catch (error) {
    expectBerthError(error);
    return [`the host's own sshd was not checked: ${error.message} ${ways}`];
  }
}

/** What init cannot do from here. */
function computeNodeLines(): string[] {
  const epilog = installedPath('share/etc/slurm/berth-epilog');
  return [
    'on each compute node: install the package berth-login, copy /etc/berth there, and run `berth images pull` (without a registry: `berth images pull --from-archive FILE IMAGE`) and `berth subid apply --directories`',
    `on each compute node, so that killed jobs leave nothing: install -m 0755 ${epilog} /etc/slurm, with Epilog=/etc/slurm/berth-epilog in slurm.conf`,
  ];
}

function cronCommands({ backend, archive }: LoginNodeAnswers): string {
  if (backend === 'slurm') return '`berth reap`';
  const images = archive === undefined ? 'images pull' : 'images files';
  return `\`berth reap\` and \`berth ${backend === 'pod' ? 'token rotate' : images}\``;
}

function imageLines({ pull, archive }: LoginNodeAnswers): string[] {
  if (archive !== undefined)
    return [
      'to update the image: berth images pull --from-archive FILE, and then berth images gc',
      'berth-images.timer stays off, because it needs a registry: after an update of OpenSSH or the C library run berth images files',
    ];
  return pull
    ? []
    : [
        'pull the image: berth images pull; without a registry: berth images pull --from-archive FILE',
      ];
}
