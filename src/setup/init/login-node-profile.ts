import { existsSync } from 'node:fs';
import { loadSshSettings } from '../../config/load/load-ssh-settings.ts';
import { chooseProfile } from '../../config/schema/profile/choose-profile.ts';
import { type Backend, backends } from '../../config/schema/profile/profile.ts';
import { parseSshSettings } from '../../config/schema/ssh-settings.ts';
import { cgroupFinding, devicesFinding } from '../../diagnose/doctor/ssh-host-checks.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { withInstalledPaths } from '../../system/program/installed-path.ts';
import { sourceText } from '../../system/program/source-text.ts';
import { kindFile } from '../sshd-kinds/kind.ts';
import { type KindMode, kindModeOf } from '../sshd-kinds/rules/kind-config.ts';
import { groupNamesOf } from '../../system/group-names.ts';
import { readIfPresent } from '../../system/trusted-text.ts';
import { hasSystemd } from '../../system/systemd-units.ts';
import { exampleWith } from './rules/example-text.ts';
import { type FileStep, whole } from './setup.ts';

/** The name of the sshd, as in docs/getting-started-login-node.md. */
export const kindName = 'login';
export const sshYml = '/etc/berth/ssh.yml';

const profileNames: Readonly<Record<Backend, string>> = {
  podman: 'minimal',
  pod: 'pod',
  slurm: 'allocation',
};
const profiles: Readonly<Record<Backend, string>> = {
  podman: sourceText('../../../etc/berth/profiles/minimal.yml', import.meta.url),
  pod: withInstalledPaths(
    sourceText('../../../etc/berth/profiles/pod-minimal.yml', import.meta.url),
  ),
  slurm: withInstalledPaths(
    sourceText('../../../etc/berth/profiles/allocation-minimal.yml', import.meta.url),
  ),
};
const sshExample = withInstalledPaths(
  sourceText('../../../etc/berth/ssh.yml.example', import.meta.url),
);

interface ProfileAnswers {
  readonly backend: Backend;
  readonly image: string;
  /** Of pods. */
  readonly cluster: string;
  /** Of jobs; empty: Slurm's default. */
  readonly partition: string;
}

/** What a former run has set, or the defaults. */
export interface PresentAnswers extends ProfileAnswers {
  readonly port: string;
  readonly addresses: readonly string[];
  readonly mode: KindMode;
}

/** @param asked the backend of this run. @throws system errors */
export function presentAnswers(asked?: Backend): PresentAnswers {
  const written = backends.find((one) => existsSync(profileFile(one)));
  const backend = asked ?? written ?? 'podman';
  const profile = readIfPresent(profileFile(backend));
  const kind = readIfPresent(kindFile(kindName));
  return {
    backend,
    image: /^image: *([^\s#]+)/m.exec(profile ?? profiles[backend])?.[1] ?? '',
    cluster: /^ +cluster: *([^\s#]+)/m.exec(profile ?? '')?.[1] ?? '',
    partition: /^ +partition: *([^\s#]+)/m.exec(profile ?? '')?.[1] ?? '',
    port: /^Port (\d+)$/m.exec(kind ?? '')?.[1] ?? '332',
    addresses: [...(kind ?? '').matchAll(/^ListenAddress (\S+)$/gm)].map(([, one = '']) => one),
    mode: kindModeOf(kind ?? '') ?? 'login-shell',
  };
}

/**
 * Looks for what no container starts without, whatever an admin answers.
 *
 * @throws {BerthError} `init-cancelled`
 */
export async function assertContainersStart(): Promise<void> {
  const { podman } = parseSshSettings({}, sshYml);
  const findings = [await cgroupFinding(podman)];
  // A present ssh.yml may need other devices: doctor looks for these.
  if (!existsSync(sshYml)) findings.push(await devicesFinding({ podman, profiles: new Map() }));
  for (const finding of findings)
    if (finding.status === 'failed')
      throw new BerthError(
        'init-cancelled',
        `no session would start: ${finding.message}; nothing was written`,
        {
          hint: finding.next,
        },
      );
}

/** The profile of the sessions, and ssh.yml, which gives it to everybody. */
export function profileSteps(
  answers: ProfileAnswers,
  present: ProfileAnswers,
): readonly [FileStep, FileStep] {
  const { backend, image } = answers;
  const others = backends.filter((one) => one !== backend);
  return [
    {
      ...whole(profileFile(backend), profileText(answers)),
      formerTexts: present.image === '' ? [] : [profileText(present)],
      ...(present.image !== image && { askedBy: '--image' }),
    },
    { ...whole(sshYml, sshText(backend)), formerTexts: others.map(sshText) },
  ];
}

/**
 * The profile that an account gets at the sshd after this run, if it is a member of the group then.
 *
 * @returns undefined if it gets none
 * @throws {BerthError} those of `loadSshSettings` and `groupNamesOf`
 */
export async function profileFor(
  user: string,
  group: string,
  { backend, port }: { readonly backend: Backend; readonly port: number },
): Promise<string | undefined> {
  const text = readIfPresent(sshYml);
  const isEdited = text !== undefined && !backends.some((one) => sshText(one) === text);
  if (!isEdited) return profileNames[backend];
  const settings = await loadSshSettings({ configFile: sshYml });
  const groups = [...groupNamesOf(user), group];
  const choice = chooseProfile(settings, { user, groups, port });
  return choice.kind === 'profile' ? choice.profile.name : undefined;
}

function profileFile(backend: Backend): string {
  return `/etc/berth/profiles/${profileNames[backend]}.yml`;
}

function profileText({ backend, image, cluster, partition }: ProfileAnswers): string {
  return profiles[backend]
    .replace(/^image: .*$/m, () => `image: ${image}`)
    .replace(/^( +cluster:) .*$/m, (_all, key: string) => `${key} ${cluster}`)
    .replace(/^batch:$/m, partition === '' ? 'batch:' : `batch:\n  partition: ${partition}`);
}

function sshText(backend: Backend): string {
  const noManager = backend === 'podman' && !hasSystemd();
  return exampleWith(sshExample, {
    rules: `rules:\n  - profile: ${profileNames[backend]}`,
    ...(noManager && { podman: 'podman:\n  cgroup_manager: cgroupfs' }),
  });
}
