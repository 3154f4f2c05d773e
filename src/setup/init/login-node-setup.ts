import type { LoginNodeAnswers } from './login-node-answers.ts';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Backend } from '../../config/schema/profile/profile.ts';
import { installedPath, withInstalledPaths } from '../../system/program/installed-path.ts';
import { sourceText } from '../../system/program/source-text.ts';
import { kindFile } from '../sshd-kinds/kind.ts';
import { assertPortIsFree, wantedKind } from '../sshd-kinds/new-kind.ts';
import type { KindMode } from '../sshd-kinds/rules/kind-config.ts';
import { hasSystemd } from '../../system/systemd-units.ts';
import { readIfPresent } from '../../system/trusted-text.ts';
import {
  accountState,
  type AccountState,
  formerShells,
  formerShellsFile,
  keepShells,
} from './account-state.ts';
import { clusterSetup } from './cluster-setup.ts';
import { imageSteps } from './image-steps.ts';
import { hostSshdNext, loginNodeNext, loginNodeStart } from './login-node-next.ts';
import {
  kindName,
  presentAnswers,
  profileFor,
  profileSteps,
  sshYml,
} from './login-node-profile.ts';
import { policySteps } from './policy-steps.ts';
import type { ProgramOptions } from '../../system/run-program.ts';
import { type CommandStep, type FileStep, type Setup, type SetupStep, whole } from './setup.ts';
import { startSteps, stopUnits, tokenUnits, unitSteps, type UnitsToStart } from './unit-steps.ts';

/** AllowGroups in etc/sshd. */
export const group = 'berth';
const pamFile = '/etc/pam.d/sshd';

const texts = {
  pam: sourceText('../../../etc/pam.d/berth-session', import.meta.url),
  pamEnv: sourceText('../../../etc/security/berth-pam-env.conf', import.meta.url),
} as const;

const units: Readonly<Record<string, string>> = {
  // First: before anybody can log in.
  'user@.service.d/berth.conf': sourceText(
    '../../../etc/systemd/user@.service.d/berth.conf',
    import.meta.url,
  ),
  'berth-sshd@.service': sourceText('../../../etc/systemd/berth-sshd@.service', import.meta.url),
  'berth-close.slice': sourceText('../../../etc/systemd/berth-close.slice', import.meta.url),
  'berth-users.slice': sourceText('../../../etc/systemd/berth-users.slice', import.meta.url),
  'berth-reap.service': sourceText('../../../etc/systemd/berth-reap.service', import.meta.url),
  'berth-reap.timer': sourceText('../../../etc/systemd/berth-reap.timer', import.meta.url),
};
/** Those of one backend. */
const backendUnits: Readonly<Record<Backend, Readonly<Record<string, string>>>> = {
  podman: {
    'berth-images.service': sourceText(
      '../../../etc/systemd/berth-images.service',
      import.meta.url,
    ),
    'berth-images.timer': sourceText('../../../etc/systemd/berth-images.timer', import.meta.url),
  },
  pod: tokenUnits,
  slurm: {},
};

/**
 * The steps of docs/getting-started-login-node.md for this host, in an order in which nobody is locked out: accounts get the
 * login program as their shell last, if doctor finds no fault.
 *
 * @param toolsDir where `berth images files` puts the transfer tools
 * @throws {BerthError} `port-taken`, and those of `wantedKind`, `accountState` and `imageSteps`; system errors
 */
export async function loginNodeSetup(
  answers: LoginNodeAnswers,
  toolsDir: string,
  env: ProgramOptions['env'],
): Promise<Setup> {
  const { backend, start } = answers;
  const runsHere = backend === 'podman';
  const accounts = await accountState(answers.users, group);
  const present = presentAnswers(answers.backend);
  const pam = readIfPresent(pamFile);
  const cluster =
    answers.cluster &&
    clusterSetup(
      answers.cluster,
      answers.policies ? await policySteps(answers.cluster, accounts.homes, env) : [],
    );
  const names = { ...answers, cluster: answers.cluster?.name ?? '' };
  const [profile, rules] = profileSteps(names, present);
  const images = runsHere ? await imageSteps(answers, sshYml) : [];
  const profilesDir = dirname(profile.path);
  const steps: SetupStep[] = [
    ...(cluster?.steps ?? []),
    // `berth images pull` reads the profiles.
    ...(existsSync(profilesDir) ? [] : [command('install', '-d', '-m', '0755', profilesDir)]),
    // No profile names what cannot be pulled. In an archive, podman looks for what a profile names.
    ...(answers.archive === undefined ? [rules, ...images, profile] : [rules, profile, ...images]),
    whole('/etc/security/berth-pam-env.conf', texts.pamEnv),
    ...(pam === undefined
      ? []
      : [{ ...pamStep, text: pamWithHooks(pam, withInstalledPaths(texts.pam)) }]),
    ...unitSteps({ ...units, ...backendUnits[backend] }),
    // Without it, sshd does not check a configuration.
    ...(existsSync('/run/sshd') ? [] : [command('install', '-d', '-m', '0755', '/run/sshd')]),
    ...(existsSync(join(toolsDir, 'ld.so')) ? [] : [command('berth', 'images', 'files')]),
    ...(accounts.groupExists
      ? []
      : [{ argv: ['groupadd', '--force', group], undo: [['groupdel', group]] }]),
    ...(runsHere
      ? [
          {
            argv: ['berth', 'subid', 'apply', ...answers.users, '--directories'],
            unless: ['berth', 'subid', 'plan', ...answers.users, '--directories'],
          },
        ]
      : []),
  ];
  const kind = await kindStep(answers, { ...present, port: Number(present.port) });
  const found = hasSystemd() ? await startSteps(unitsOf(answers)) : { steps: [], running: [] };
  const started = start ? found.steps : [];
  const formerText = readIfPresent(formerShellsFile);
  const shells = shellSteps(accounts, answers.mode);
  const kept = keepShells(formerText, shells.length === 0 ? [] : accounts.local);
  // The sshd of an earlier run accepts new members at once: they have Berth as their shell before.
  const isOpen = shells.length > 0 && existsSync(kindFile(kindName));
  // The linter refuses a kind of which a member of the group has another shell: then it waits for the shells, too.
  const members = accounts.local.flatMap(({ name, member }) => (member ? name : []));
  const waits = !isOpen && shells.some(({ argv }) => members.includes(argv.at(-1) ?? ''));
  const admitted = [...(isOpen ? [...kept, ...shells] : []), kind, ...memberSteps(accounts)];
  const [user] = answers.users;
  return {
    steps: [...steps, ...(waits ? [] : admitted)],
    // sshd last: until then, members with another shell would get it there.
    last: [...(isOpen ? [] : [...kept, ...shells]), ...(waits ? admitted : []), ...started],
    doctor:
      user === undefined
        ? []
        : ['--user', user, ...(await profileOption(user, answers)), ...sessionOption(answers)],
    next: [
      ...(pam === undefined ? [noPam] : []),
      ...(cluster?.next ?? []),
      ...loginNodeNext(answers, accounts),
    ],
    nextIfSound: loginNodeStart(answers, unitsOf(answers)),
    nextByLook: () => hostSshdNext(answers.users),
    undo: [
      ...undoPresent(accounts, found.running, formerShells(formerText)),
      ...(cluster?.undo ?? []),
    ],
  };
}

/** What an earlier run did to units and accounts. A version that did not keep shells may have replaced them. */
function undoPresent(
  { all, groupExists }: AccountState,
  running: readonly string[],
  former: ReadonlyMap<string, string>,
): string[][] {
  const login = installedPath('shell/login');
  return [
    ...(running.length === 0 ? [] : [stopUnits(running)]),
    ...all
      .filter(({ shell }) => shell === login)
      .map(({ name }) => ['usermod', '--shell', former.get(name) ?? 'SHELL', name]),
    ...all.filter(({ member }) => member).map(({ name }) => leaveGroup(name)),
    ...(groupExists ? [['groupdel', group]] : []),
  ];
}

/** The faults of other profiles are not the user's. */
async function profileOption(user: string, answers: LoginNodeAnswers): Promise<string[]> {
  const profile = await profileFor(user, group, answers);
  return profile === undefined ? [] : ['--profile', profile];
}

/** With the image, doctor can try it. */
function sessionOption({ backend, pull, archive }: LoginNodeAnswers): string[] {
  // Before the compute nodes have the files, no job can serve a session: doctor asks Slurm whether it accepts one.
  if (backend === 'slurm') return [];
  return backend === 'pod' || pull || archive !== undefined ? ['--start-session'] : [];
}

const noPam = `there is no ${pamFile}: add the lines of ${installedPath('share/etc/pam.d/berth-session')} to sshd's PAM file`;

const pamStep = {
  path: pamFile,
  mode: 0o644,
  kind: 'edit',
  copy: '/root/pam.d-sshd.before-berth',
} as const;

function command(...argv: readonly string[]): CommandStep {
  return { argv };
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
    ...(!isDeepStrictEqual(addresses, present.addresses) && { askedBy: '--address' }),
    ...(port !== present.port && { askedBy: '--port' }),
    ...(mode !== present.mode && { askedBy: '--mode' }),
    // The admin has been asked.
    writtenBy: [
      'sshd',
      'new',
      kindName,
      '--port',
      String(port),
      '--mode',
      mode,
      ...words,
      '--overwrite',
    ],
  };
}

type KindAnswers = Pick<LoginNodeAnswers, 'port' | 'addresses' | 'mode'>;

function kindOf({ port, addresses, mode }: KindAnswers): ReturnType<typeof wantedKind> {
  return wantedKind({
    port,
    addresses,
    mode,
    name: kindName,
    settings: sshYml,
    sshd: '/usr/sbin/sshd',
    hostKeys: [],
    accepted: [],
  });
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
          undo: [leaveGroup(name)],
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
          undo: [['usermod', '--shell', present === '' ? '/bin/sh' : present, name]],
          untilChecked: true,
        },
  );
}

const sshdUnit = `berth-sshd@${kindName}.service`;

function unitsOf({ backend, archive }: LoginNodeAnswers): UnitsToStart {
  if (backend === 'pod') {
    const always = ['berth-reap.timer', 'berth-token-rotate.timer'];
    return { sshd: sshdUnit, always, withSshd: [] };
  }
  if (backend === 'slurm') return { sshd: sshdUnit, always: ['berth-reap.timer'], withSshd: [] };
  // Where there is no registry, the timer that pulls from it would fail every night.
  const withSshd = archive === undefined ? ['berth-images.timer'] : [];
  return { sshd: sshdUnit, always: ['berth-reap.timer'], withSshd };
}

/**
 * sshd's PAM file with Berth's hooks at its end, and without the option by which users set the environment of programs that
 * root runs. A file that has the hooks is unchanged otherwise.
 *
 * @param hooks text of etc/pam.d/berth-session, with the paths of this installation
 */
export function pamWithHooks(text: string, hooks: string): string {
  const safe = text.replaceAll(/^(?!\s*#).*$/gm, (line) =>
    line.replaceAll(/[ \t]+user_readenv=(?!0(?:\s|$))\S*/g, ''),
  );
  if (/^(?!\s*#).*hooks\/pam-session open/m.test(safe)) return safe;
  return `${safe.endsWith('\n') || safe === '' ? safe : `${safe}\n`}${hooks}`;
}
