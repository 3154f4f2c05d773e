import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { ImageArchive } from '../images/image-archive.ts';
import { installedPath, withInstalledPaths } from '../installed-path.ts';
import { sourceText } from '../source-text.ts';
import { kindFile } from '../sshd-kinds/kind-files.ts';
import { assertPortIsFree, wantedKind } from '../sshd-kinds/new-kind.ts';
import type { KindMode } from '../sshd-kinds/rules/kind-config.ts';
import { readIfPresent } from '../system/trusted-text.ts';
import { hasSystemd } from '../system/systemd-units.ts';
import { accountState, type AccountState } from './account-state.ts';
import { imageSteps } from './image-steps.ts';
import { exampleWith } from './rules/example-text.ts';
import { pamWithHooks } from './rules/pam-text.ts';
import { startSteps, type UnitsToStart } from './start-steps.ts';
import { unitSteps } from './unit-steps.ts';
import type { CommandStep, FileStep, Setup, SetupStep } from './setup.ts';

/** What an admin is asked about a login node. */
export interface LoginNodeAnswers {
  readonly image: string;
  /** Accounts that may log in. */
  readonly users: readonly string[];
  readonly port: number;
  /** IP addresses that the sshd listens on; none means all. */
  readonly addresses: readonly string[];
  readonly mode: KindMode;
  readonly pull: boolean;
  /** In place of a registry. */
  readonly archive?: ImageArchive | undefined;
  readonly start: boolean;
}

/** What a former run has set, or the defaults. @throws system errors */
export function presentAnswers(): {
  readonly image: string;
  readonly port: string;
  readonly addresses: readonly string[];
  readonly mode: KindMode;
} {
  const profile = readIfPresent(profileFile);
  const kind = readIfPresent(kindFile(kindName));
  return {
    image: /^image: *([^\s#]+)/m.exec(profile ?? texts.profile)?.[1] ?? '',
    port: /^Port (\d+)$/m.exec(kind ?? '')?.[1] ?? '332',
    addresses: [...(kind ?? '').matchAll(/^ListenAddress (\S+)$/gm)].map(([, one = '']) => one),
    mode: kind?.includes('(forced)') === true ? 'forced' : 'login-shell',
  };
}

/** The name of the sshd, as in docs/getting-started-login-node.md. */
const kindName = 'login';
/** AllowGroups in etc/sshd. */
export const group = 'berth';
const profileFile = '/etc/berth/profiles/minimal.yml';
const settings = '/etc/berth/ssh.yml';
const pamFile = '/etc/pam.d/sshd';

const texts = {
  profile: sourceText('../../etc/berth/profiles/minimal.yml', import.meta.url),
  ssh: withInstalledPaths(sourceText('../../etc/berth/ssh.yml.example', import.meta.url)),
  pam: sourceText('../../etc/pam.d/berth-session', import.meta.url),
  pamEnv: sourceText('../../etc/security/berth-pam-env.conf', import.meta.url),
} as const;

const units: Readonly<Record<string, string>> = {
  // First: before anybody can log in.
  'user@.service.d/berth.conf': sourceText(
    '../../etc/systemd/user@.service.d/berth.conf',
    import.meta.url,
  ),
  'berth-sshd@.service': sourceText('../../etc/systemd/berth-sshd@.service', import.meta.url),
  'berth-reap.service': sourceText('../../etc/systemd/berth-reap.service', import.meta.url),
  'berth-reap.timer': sourceText('../../etc/systemd/berth-reap.timer', import.meta.url),
  'berth-images.service': sourceText('../../etc/systemd/berth-images.service', import.meta.url),
  'berth-images.timer': sourceText('../../etc/systemd/berth-images.timer', import.meta.url),
};

/**
 * The steps of docs/getting-started-login-node.md for this host, in an order in which nobody is locked out: accounts get the
 * login program as their shell last, if doctor finds no fault.
 *
 * @param toolsDir where `berth images files` puts the transfer tools
 * @throws {BerthError} `port-taken`, and those of `wantedKind`, `accountState` and `imageSteps`; system errors
 */
export async function loginNodeSetup(answers: LoginNodeAnswers, toolsDir: string): Promise<Setup> {
  const { image, start } = answers;
  const accounts = await accountState(answers.users, group);
  const present = presentAnswers();
  const pam = readIfPresent(pamFile);
  const steps: SetupStep[] = [
    {
      ...whole(profileFile, profileWith(image)),
      formerTexts: present.image === '' ? [] : [profileWith(present.image)],
      ...(present.image === image ? {} : { askedBy: '--image' }),
    },
    whole(settings, exampleWith(texts.ssh, sshValues())),
    whole('/etc/security/berth-pam-env.conf', texts.pamEnv),
    ...(pam === undefined
      ? []
      : [{ ...pamStep, text: pamWithHooks(pam, withInstalledPaths(texts.pam)) }]),
    ...unitSteps(units),
    ...(existsSync(join(toolsDir, 'ld.so')) ? [] : [command('berth', 'images', 'files')]),
    ...(await imageSteps(answers, settings)),
    ...(accounts.groupExists
      ? []
      : [{ argv: ['groupadd', '--force', group], undo: ['groupdel', group] }]),
    {
      argv: ['berth', 'subid', 'apply', ...answers.users, '--directories'],
      unless: ['berth', 'subid', 'plan', ...answers.users, '--directories'],
    },
  ];
  const kind = await kindStep(answers, { ...present, port: Number(present.port) });
  const started = start && hasSystemd() ? await startSteps(unitsOf(answers)) : [];
  const shells = shellSteps(accounts, answers.mode);
  // The linter refuses a kind of which a member of the group has another shell: then it waits for the shells, too.
  const members = accounts.local.flatMap(({ name, member }) => (member ? name : []));
  const waits = shells.some(({ argv }) => members.includes(argv.at(-1) ?? ''));
  const [user] = answers.users;
  return {
    steps: [...steps, ...(waits ? [] : [kind, ...memberSteps(accounts), ...started])],
    last: [...shells, ...(waits ? [kind, ...memberSteps(accounts), ...started] : [])],
    doctor: user === undefined ? [] : ['--user', user, ...sessionOption(answers)],
    next: nextLines(answers, accounts, pam !== undefined),
    undo: undoPresent(answers, accounts, started.length === 0),
  };
}

/** What an earlier run did to units and accounts. The shells that accounts had are in the output of that run. */
function undoPresent({ mode, start }: LoginNodeAnswers, accounts: AccountState, runs: boolean) {
  const login = installedPath('shell/login');
  const present = accounts.local.filter(({ member }) => member);
  const shells = present.filter(({ shell }) => mode !== 'forced' && shell === login);
  return [
    ...(start && hasSystemd() && runs ? [['systemctl', 'disable', '--now', sshdUnit]] : []),
    ...shells.map(({ name }) => ['usermod', '--shell', '/bin/bash', name]),
    ...present.map(({ name }) => leaveGroup(name)),
  ];
}

/** With the image, doctor can try it. */
function sessionOption({ pull, archive }: LoginNodeAnswers): string[] {
  return pull || archive !== undefined ? ['--start-session'] : [];
}

const pamStep = {
  path: pamFile,
  mode: 0o644,
  kind: 'edit',
  copy: '/root/pam.d-sshd.before-berth',
} as const;

function whole(path: string, text: string): FileStep {
  return { path, text, mode: 0o644, kind: 'whole' };
}

function command(...argv: readonly string[]): CommandStep {
  return { argv };
}

function sshValues(): Record<string, string> {
  return {
    rules: 'rules:\n  - profile: minimal',
    ...(hasSystemd() ? {} : { podman: 'podman:\n  cgroup_manager: cgroupfs' }),
  };
}

/** @throws {BerthError} those of `wantedKind` and `assertPortIsFree` */
async function kindStep(answers: KindAnswers, present: KindAnswers): Promise<FileStep> {
  const { port, addresses, mode } = answers;
  const wanted = await kindOf(answers);
  await assertPortIsFree(wanted);
  const former = await kindOf(present);
  const words = addresses.flatMap((address) => ['--address', address]);
  return {
    ...whole(wanted.file, wanted.text),
    formerTexts: [former.text],
    ...(isDeepStrictEqual(addresses, present.addresses) ? {} : { askedBy: '--address' }),
    ...(port === present.port ? {} : { askedBy: '--port' }),
    ...(mode === present.mode ? {} : { askedBy: '--mode' }),
    // The admin has been asked.
    writtenBy: [
      ...['sshd', 'new', kindName, '--port', String(port), '--mode', mode, ...words],
      '--overwrite',
    ],
  };
}

type KindAnswers = Pick<LoginNodeAnswers, 'port' | 'addresses' | 'mode'>;

function kindOf({ port, addresses, mode }: KindAnswers): ReturnType<typeof wantedKind> {
  return wantedKind({
    ...{ port, addresses, mode, name: kindName, settings, sshd: '/usr/sbin/sshd' },
    ...{ hostKeys: [], accepted: [] },
  });
}

function profileWith(image: string): string {
  return texts.profile.replace(/^image: .*$/m, () => `image: ${image}`);
}

function leaveGroup(name: string): string[] {
  return ['gpasswd', '--delete', name, group];
}

/** Without Berth as their shell, members would have one of the host at this sshd. */
function memberSteps({ local }: AccountState): CommandStep[] {
  return local.flatMap(({ name, member }) =>
    member
      ? []
      : {
          argv: ['usermod', '--append', '--groups', group, name],
          undo: leaveGroup(name),
          untilChecked: true,
        },
  );
}

function shellSteps({ local }: AccountState, mode: KindMode): CommandStep[] {
  const shell = installedPath('shell/login');
  return local.flatMap(({ name, shell: present }) =>
    mode === 'forced' || present === shell
      ? []
      : {
          argv: ['usermod', '--shell', shell, name],
          undo: ['usermod', '--shell', present === '' ? '/bin/sh' : present, name],
        },
  );
}

const sshdUnit = `berth-sshd@${kindName}.service`;

function unitsOf({ archive }: LoginNodeAnswers): UnitsToStart {
  // Where there is no registry, the timer that pulls from it would fail every night.
  const withSshd = archive === undefined ? ['berth-images.timer'] : [];
  return { sshd: sshdUnit, always: ['berth-reap.timer'], withSshd };
}

function nextLines(
  answers: LoginNodeAnswers,
  { elsewhere }: AccountState,
  hasPam: boolean,
): string[] {
  const { users, port, addresses, mode, pull, archive, start } = answers;
  const [address = 'THIS-HOST'] = addresses.filter((one) => !/^(?:0\.0\.0\.0|::)$/.test(one));
  const { sshd, always, withSshd } = unitsOf(answers);
  const shell = installedPath('shell/login');
  const program = `/usr/sbin/sshd -f /etc/ssh/berth/${kindName}.conf`;
  return [
    ...(hasPam
      ? []
      : [
          `there is no ${pamFile}: add the lines of ${installedPath('share/etc/pam.d/berth-session')} to sshd's PAM file`,
        ]),
    ...(pull || archive !== undefined
      ? []
      : [
          'pull the image: berth images pull; without a registry: berth images pull --from-archive FILE',
        ]),
    ...(archive === undefined
      ? []
      : [
          'to update the image: berth images pull --from-archive FILE, and then berth images gc',
          'berth-images.timer stays off, because it needs a registry: after an update of OpenSSH or the C library run berth images files',
        ]),
    ...elsewhere.map((name) =>
      mode === 'forced'
        ? `${name} is in a directory service: make the account a member of the group ${group} there`
        : `${name} is in a directory service: set loginShell ${shell} and the group ${group} there`,
    ),
    ...(hasSystemd()
      ? start
        ? []
        : [`start it: systemctl enable --now ${[sshd, ...always, ...withSshd].join(' ')}`]
      : [
          `start it: mkdir -p /run/sshd && ${program}; run \`berth reap\` and \`berth images ${archive === undefined ? 'pull' : 'files'}\` from cron`,
        ]),
    ...(users.length > 0 ? [] : ['let users log in: berth init login-node --user NAME']),
    `try it: ssh -p ${port} ${users[0] ?? 'USER'}@${address}`,
  ];
}
