import { sessionBackends, type SshSettings } from '../../config/schema/profile/profile.ts';
import type { LoadedSiteSettings } from '../../config/schema/site-file-contents.ts';
import { farReaching, farReachingAdvice } from '../../config/schema/profile/far-reaching.ts';
import { namedProfile } from '../../config/schema/profile/named-profile.ts';
import { ignoredKeys, ignoredKeysText } from '../../config/schema/profile/ignored-keys.ts';
import type { User } from '../../system/identity/nss.ts';
import { checkImages } from '../../setup/images/check-images.ts';
import { pamFileFindings } from '../../setup/sshd-lint/lint-pam.ts';
import { userManagerFindings } from '../../setup/sshd-lint/lint-background-jobs.ts';
import type { ResolveConfigPath } from '../../config/load/config-path.ts';
import { loadSshSettings } from '../../config/load/load-ssh-settings.ts';
import { withSessionProfiles } from '../../config/load/session-profiles.ts';
import { hasSystemd } from '../../system/systemd-units.ts';
import { planSubids, type SubidPlan } from '../../setup/subid/plan-subids.ts';
import {
  type CheckId,
  type CheckResult,
  failed,
  failedWith,
  type Finding,
  ok,
  skipped,
  warning,
} from '../../system/errors/check-result.ts';
import { runCheck } from '../../system/run-check.ts';
import {
  cgroupFinding,
  delegationFinding,
  devicesFinding,
  fuseFinding,
  idMapToolsFinding,
  podmanFinding,
  runtimeFinding,
  syslogFinding,
  terminalsFinding,
} from './ssh-host-checks.ts';
import { Checks } from './checks.ts';
import { checkPods } from './pod-checks.ts';
import { networksFinding } from './podman-network-check.ts';
import { checkSlurm } from './slurm-checks.ts';
import { checkRunningSshds } from './sshd-checks.ts';
import {
  mountsFinding,
  rulesFinding,
  runtimeDirFinding,
  subidFilesFinding,
  transferToolsFinding,
  userAccessFinding,
  userProfileFinding,
  userSubidFinding,
} from './ssh-user-checks.ts';
import { fileSystemFinding, storageFinding, userStorageFinding } from './ssh-storage-checks.ts';
import { installedPath } from '../../system/program/installed-path.ts';

export interface SshCheckInput {
  /** ssh.yml. */
  readonly configFile: string;
  /** Of a configuration to try. */
  readonly overlay: ResolveConfigPath | undefined;
  /** Also check this account. */
  readonly user?: User;
  /** Also start a session of it: path of `berth`. */
  readonly sessionProgram?: string;
  /** Only this profile and what it needs. */
  readonly profile?: string;
  /** Undefined if the configuration of the clusters is missing or cannot be read. */
  readonly clusters: LoadedSiteSettings | undefined;
  /** For each check, in milliseconds. */
  readonly timeoutMs: number;
  /** Leaves out what `berth status` has no time for. */
  readonly onlyQuick?: boolean;
}

/** Checks what SSH sessions need on this host. Changes nothing, unless a session is to be started. */
export async function checkSsh(input: SshCheckInput): Promise<CheckResult[]> {
  const { configFile, overlay, timeoutMs } = input;
  let settings: SshSettings | undefined;
  const config = await runCheck(
    'ssh-config',
    async () => {
      settings = await loadSshSettings({ configFile, overlay });
      return configFinding(settings);
    },
    timeoutMs,
  );
  if (settings === undefined) return [config];
  const found = await checkSessions(settings, input);
  return [config, ...found, ...(await sessionResults(input, settings))];
}

/** The same of settings that were read. */
export async function checkSessions(
  all: SshSettings,
  input: Omit<SshCheckInput, 'configFile' | 'overlay'>,
): Promise<CheckResult[]> {
  const { user, clusters, timeoutMs, onlyQuick } = input;
  const known = input.profile === undefined ? all : onlyProfile(all, input.profile);
  if (known.noSessions)
    return [
      ...profileResults(known),
      {
        id: 'ssh-rules',
        ...skipped(
          '`rules: []` in ssh.yml: this host has no SSH sessions, and is not checked for them',
        ),
      },
    ];
  const checks = new Checks(timeoutMs, onlyQuick);
  const pamFindings = pamFileFindings('sshd');
  const login = await Promise.all([
    checks.slow('ssh-rules', () => rulesFinding(all)),
    ...(user === undefined
      ? []
      : [
          checks.slow('user-access', () => userAccessFinding(user)),
          checks.slow('user-profile', () => userProfileFinding(all, user)),
        ]),
    checks.quick('pam-session', async () => pamFinding(await pamFindings)),
    checks.quick('user-manager', userManagerFinding),
    checks.quick('fuse', fuseFinding),
    checks.quick('syslog', syslogFinding),
  ]);
  const sshds = checks.onlyQuick ? [] : await checkRunningSshds(known.balancers, timeoutMs);
  const used = withSessionProfiles(known);
  const pods = checks.onlyQuick ? [] : await checkPods(used, clusters, timeoutMs, user);
  const slurm = await checkSlurm(used, timeoutMs, user);
  const ofPodman = withPodmanProfiles(known);
  const podman =
    ofPodman === undefined ? [] : await checkPodman(ofPodman, user, checks, pamFindings);
  return [...profileResults(known), ...login.flat(), ...sshds, ...podman, ...pods, ...slurm];
}

/** The settings with the profiles whose sessions are containers here; undefined if all profiles have others. */
function withPodmanProfiles(settings: SshSettings): SshSettings | undefined {
  const profiles = new Map(
    [...settings.profiles].filter(([, one]) => sessionBackends(one, settings.rules).has('podman')),
  );
  return profiles.size === 0 && settings.profiles.size > 0 ? undefined : { ...settings, profiles };
}

/** @throws {BerthError} `profile-missing`, or the profile's error */
function onlyProfile(settings: SshSettings, name: string): SshSettings {
  const profiles = new Map([[name, namedProfile(settings, name)]]);
  return { ...settings, profiles, broken: new Map() };
}

async function sessionResults(
  { configFile, user, sessionProgram: program, profile }: SshCheckInput,
  settings: SshSettings,
): Promise<CheckResult[]> {
  if (user === undefined || program === undefined || settings.noSessions) return [];
  const { checkSessionStart } = await import('./test-session-check.ts');
  return [await checkSessionStart({ program, configFile }, settings, user, profile)];
}

/** Checks what containers of these profiles need on this host, and for the user. Changes nothing. */
export async function checkPodman(
  settings: SshSettings,
  user: User | undefined,
  checks: Checks,
  pamFindings: PamFindings = pamFileFindings('sshd'),
): Promise<CheckResult[]> {
  const { podman, storage } = settings;
  let planned: Promise<SubidPlan> | undefined;
  // Once for both checks: the name service may be slow.
  const subids = (): Promise<SubidPlan> => (planned ??= planSubids(subidInput(user)));
  const results = await Promise.all([
    checks.slow('podman', (signal) => podmanFinding(podman, signal)),
    checks.slow('podman-runtime', (signal) => runtimeFinding(podman, signal)),
    checks.slow('newuidmap', (signal) => idMapToolsFinding(signal)),
    checks.slow('subid-files', async () => subidFilesFinding(await subids())),
    checks.quick('cgroups', () => cgroupFinding(podman)),
    checks.quick('cgroup-delegation', () => delegationFinding(settings, user?.uid)),
    checks.quick('terminals', terminalsFinding),
    checks.quick('devices', () => devicesFinding(settings)),
    checks.quick('podman-network', () => networksFinding(settings, user)),
    checks.quick('transfer-files', transferToolsFinding),
    checks.quick('ssh-mounts', () => mountsFinding(settings)),
    checks.quick('storage', () => storageFinding(storage)),
    checks.quick('storage-file-system', () => fileSystemFinding(storage)),
    ...(user === undefined
      ? []
      : [
          checks.slow('user-subids', async () => userSubidFinding(await subids(), user)),
          checks.slow('user-storage', () => userStorageFinding(storage, user)),
          checks.slow('user-runtime-directory', async () =>
            runtimeDirFinding(user, settings, hasPamHook(await pamFindings)),
          ),
        ]),
  ]);
  const images = checks.onlyQuick ? [] : checkImages({ ...settings, broken: new Map() });
  return [
    ...results.flat(),
    ...images.map(({ id, status, message, next }) => ({ id, status, message, next })),
  ];
}

type PamFindings = ReturnType<typeof pamFileFindings>;

/** Profiles with errors, and keys of profiles that have no effect. */
function profileResults({ profiles, rules, broken }: SshSettings): CheckResult[] {
  const id: CheckId = 'ssh-profile';
  const unheard = [...profiles.values()].flatMap((profile) => ignoredKeys(profile, rules) ?? []);
  return [
    ...[...broken.values()].map(({ error }) => ({ id, ...failedWith(error) })),
    ...[...profiles.values()]
      .flatMap(farReaching)
      .map(({ text }) => ({ id, ...warning(text, `${farReachingAdvice}.`) })),
    ...unheard.map((keys) => ({
      id,
      ...warning(
        ignoredKeysText(keys),
        `Remove them, or see ${installedPath('share/docs/ssh-profiles.md')} for the keys of that backend.`,
      ),
    })),
  ];
}

/** Checks the present files and the ranges of one user; the layout does not matter for that. */
function subidInput(user: User | undefined): Parameters<typeof planSubids>[0] {
  return {
    wanted: user === undefined ? [] : [`${user.name}:x:${user.uid}:${user.gid}`],
    groups: false,
    layout: { firstUid: 0, base: 1, size: 1 },
  };
}

function configFinding({ profiles }: SshSettings): Finding {
  const names = [...profiles.keys()].sort().join(', ') || 'none';
  if (profiles.size === 0)
    return failed('no profile can be used', `See ${installedPath('share/docs/ssh-profiles.md')}.`);
  return ok(`ssh.yml can be read; profiles: ${names}`);
}

function pamFinding(found: Awaited<PamFindings>): Finding {
  // Without our lines a login may have no runtime directory: that comes before what they guard.
  const [first, ...more] = [...found].sort(
    (one, other) => lacksBerthLines(other) - lacksBerthLines(one),
  );
  if (first === undefined)
    return ok('the PAM session stack of sshd runs pam-session, which cleans up after a connection');
  const message = `${first.message}${more.length === 0 ? '' : ` (and ${more.length} more: berth sshd lint)`}`;
  return (first.severity === 'critical' ? failed : warning)(message, first.closedBy);
}

async function userManagerFinding(): Promise<Finding> {
  if (!hasSystemd())
    return skipped('this host has no systemd, which would start managers of users');
  const [first] = await userManagerFindings();
  if (first === undefined)
    return ok("systemd's managers of users take no units and variables from homes");
  return (first.severity === 'critical' ? failed : warning)(first.message, `${first.closedBy}.`);
}

const lacksBerthLines = ({ code }: { readonly code: string }): number =>
  Number(['pam-session-missing', 'pam-session-unreached', 'pam-unreadable'].includes(code));

export const hasPamHook = (found: Awaited<PamFindings>): boolean =>
  found.every((finding) => lacksBerthLines(finding) === 0);
