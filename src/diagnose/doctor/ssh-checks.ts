import { sessionBackends, type SshSettings } from '../../config/schema/profile/profile.ts';
import type { LoadedSiteSettings } from '../../config/schema/site-file-contents.ts';
import { farReaching, farReachingAdvice } from '../../config/schema/profile/far-reaching.ts';
import { namedProfile } from '../../config/schema/profile/named-profile.ts';
import { ignoredKeys, ignoredKeysText } from '../../config/schema/profile/ignored-keys.ts';
import type { User } from '../../identity/nss.ts';
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
  runCheck,
  skipped,
  warning,
} from '../../check-result.ts';
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
import { installedPath } from '../../installed-path.ts';

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
}

/** Checks what SSH sessions need on this host. Changes nothing, unless a session is to be started. */
export async function checkSsh(input: SshCheckInput): Promise<CheckResult[]> {
  const { configFile, overlay, user, clusters, timeoutMs } = input;
  let settings: SshSettings | undefined;
  const config = await runCheck(
    {
      id: 'ssh-config',
      run: async () => {
        settings = await loadSshSettings({ configFile, overlay });
        return configFinding(settings);
      },
    },
    timeoutMs,
  );
  if (settings === undefined) return [config];
  const all: SshSettings = settings;
  const known = input.profile === undefined ? all : onlyProfile(all, input.profile);
  if (known.noSessions)
    return [
      config,
      ...profileResults(known),
      {
        id: 'ssh-rules',
        ...skipped(
          '`rules: []` in ssh.yml: this host has no SSH sessions, and is not checked for them',
        ),
      },
    ];
  const run = runner(timeoutMs);
  const access = await Promise.all([
    run('ssh-rules', () => rulesFinding(all)),
    ...(user === undefined
      ? []
      : [
          run('user-access', () => userAccessFinding(user)),
          run('user-profile', () => userProfileFinding(all, user)),
        ]),
  ]);
  const pamFindings = pamFileFindings('sshd');
  const files = await Promise.all(loginChecks(run, pamFindings));
  const sshds = await checkRunningSshds(known.balancers, timeoutMs);
  const used = withSessionProfiles(known);
  const pods = [
    ...(await checkPods(used, clusters, timeoutMs, user)),
    ...(await checkSlurm(used, timeoutMs, user)),
  ];
  const first = [config, ...profileResults(known), ...access, ...files, ...sshds];
  const ofPodman = withPodmanProfiles(known);
  const podman =
    ofPodman === undefined ? [] : await checkPodman(ofPodman, user, timeoutMs, pamFindings);
  return [...first, ...podman, ...pods, ...(await sessionResults(input, all))];
}

/**
 * Those of the checks that take some milliseconds each: they read files of this host, and ask nobody but systemd.
 *
 * @param timeoutMs for each, in milliseconds
 */
export async function checkSshFiles(
  settings: SshSettings,
  timeoutMs: number,
): Promise<CheckResult[]> {
  if (settings.noSessions) return profileResults(settings);
  const run = runner(timeoutMs);
  const ofPodman = withPodmanProfiles(settings);
  const results = await Promise.all([
    ...loginChecks(run, pamFileFindings('sshd')),
    ...(ofPodman === undefined ? [] : podmanFileChecks(ofPodman, run)),
    checkSlurm(withSessionProfiles(settings), timeoutMs),
  ]);
  return [...profileResults(settings), ...results.flat()];
}

function loginChecks(run: Run, pamFindings: PamFindings): Promise<CheckResult>[] {
  return [
    run('pam-session', async () => pamFinding(await pamFindings)),
    run('user-manager', userManagerFinding),
    run('fuse', fuseFinding),
    run('syslog', syslogFinding),
  ];
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
  if (user === undefined || program === undefined) return [];
  const { checkSessionStart } = await import('./test-session-check.ts');
  return [await checkSessionStart({ program, configFile }, settings, user, profile)];
}

/**
 * Checks what containers of these profiles need on this host, and for the user. Changes nothing.
 *
 * @param timeoutMs for each check, in milliseconds
 */
export async function checkPodman(
  settings: SshSettings,
  user: User | undefined,
  timeoutMs: number,
  pamFindings?: PamFindings,
): Promise<CheckResult[]> {
  const { podman } = settings;
  const run = runner(timeoutMs);
  // Once for both checks: the name service may be slow.
  const subids = planSubids(subidInput(user));
  subids.catch(() => undefined);
  const results = await Promise.all([
    run('podman', (signal) => podmanFinding(podman, signal)),
    run('podman-runtime', (signal) => runtimeFinding(podman, signal)),
    run('newuidmap', (signal) => idMapToolsFinding(signal)),
    run('subid-files', async () => subidFilesFinding(await subids)),
    ...podmanFileChecks(settings, run, user),
    ...(user === undefined ? [] : userChecks(user, settings, run, subids, pamFindings)),
  ]);
  return [
    ...results,
    ...checkImages({ ...settings, broken: new Map() }).map(({ id, status, message, next }) => ({
      id,
      status,
      message,
      next,
    })),
  ];
}

function podmanFileChecks(settings: SshSettings, run: Run, user?: User): Promise<CheckResult>[] {
  const { podman, storage } = settings;
  return [
    run('cgroups', () => cgroupFinding(podman)),
    run('cgroup-delegation', () => delegationFinding(settings, user?.uid)),
    run('terminals', terminalsFinding),
    run('devices', () => devicesFinding(settings)),
    run('podman-network', () => networksFinding(settings, user)),
    run('transfer-files', transferToolsFinding),
    run('ssh-mounts', () => mountsFinding(settings)),
    run('storage', () => storageFinding(storage)),
    run('storage-file-system', () => fileSystemFinding(storage)),
  ];
}

type PamFindings = ReturnType<typeof pamFileFindings>;

type Run = (
  id: CheckId,
  work: (signal: AbortSignal) => Promise<Finding> | Finding,
) => Promise<CheckResult>;

const runner =
  (timeoutMs: number): Run =>
  (id, run) =>
    runCheck({ id, run }, timeoutMs);

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

function userChecks(
  user: User,
  settings: SshSettings,
  run: Run,
  subids: Promise<SubidPlan>,
  pamFindings: PamFindings = pamFileFindings('sshd'),
): Promise<CheckResult>[] {
  return [
    run('user-subids', async () => userSubidFinding(await subids, user)),
    run('user-storage', () => userStorageFinding(settings.storage, user)),
    run('user-runtime-directory', async () =>
      runtimeDirFinding(user, settings, hasPamHook(await pamFindings)),
    ),
  ];
}

/** Checks the present files and the ranges of one user; the layout does not matter for that. */
function subidInput(user: User | undefined): Parameters<typeof planSubids>[0] {
  return {
    wanted: user === undefined ? [] : [`${user.name}:x:${user.uid}:${user.gid}`],
    minimumUid: 0,
    maximumUid: 0xffff_fffe,
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
