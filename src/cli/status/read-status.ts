import { hostname } from 'node:os';
import type { CheckStatus } from '../../system/errors/check-result.ts';
import { asInstalled } from '../../config/load/config-path.ts';
import { loadSiteSettings } from '../../config/load/load-site-settings.ts';
import { loadSshSettings, sshCacheFile } from '../../config/load/load-ssh-settings.ts';
import { changedSources } from '../../config/load/settings-cache.ts';
import {
  defaultConfigFile,
  defaultSettings,
  runDir,
} from '../../config/schema/default-settings.ts';
import type { SshSettings } from '../../config/schema/profile/profile.ts';
import type { LoadedSiteSettings } from '../../config/schema/site-file-contents.ts';
import {
  hostRoles,
  isOnlySshHost,
  isSshHost,
  isWithoutClusters,
} from '../../diagnose/doctor/host-roles.ts';
import { asBerthError, type BerthError } from '../../system/errors/berth-error.ts';
import type { Session } from '../../login/sessions/list-sessions.ts';
import { hasSystemd } from '../../system/systemd-units.ts';
import type { TimerState } from '../../system/systemd-timers.ts';
import { timeOrNull } from '../kit/document-parts.ts';
import { documentError, type Terminal } from '../kit/terminal.ts';
import { timestamp } from '../kit/text.ts';
import type {
  ClusterStatus,
  ConfigurationStatus,
  HostStatus,
  ImageStatus,
  IncompletePart,
  ProfileSessions,
  StatusPart,
  TimerStatus,
} from './host-status.ts';

/** For the answer of a cluster, a check, and the profiles of all sessions. Milliseconds. */
const timeoutMs = 500;

const sshFile = '/etc/berth/ssh.yml';
/** What is left out for another user than root. */
const ofRoot: readonly (readonly [StatusPart, string])[] = [
  ['configuration', 'only root may read berth.yml and what belongs to it'],
  ['clusters', "only root has the hook's tokens"],
  ['sessions', 'only root sees the sessions of all users'],
  ['checks', 'only root can run them'],
];

type Skip = (part: StatusPart, message: string) => void;

/** Looks at everything at the same time. It changes nothing. @param nowMs milliseconds since the epoch */
export async function readStatus(
  { version, program }: Pick<Terminal, 'version' | 'program'>,
  nowMs: number,
): Promise<HostStatus> {
  const incomplete: IncompletePart[] = [];
  const skip: Skip = (part, message) => {
    incomplete.push({ part, status: 'skipped', message });
  };
  const uid = process.geteuid?.() ?? 0;
  const now = Math.floor(nowMs / 1000);
  const site = uid === 0 ? await readSite() : undefined;
  const ssh = isSshHost(sshFile) ? await readSsh() : undefined;
  const sshSettings = ssh?.settings;
  const clustersDir = site?.settings?.settings.clustersDir ?? defaultSettings.clustersDir;
  if (uid !== 0) for (const [part, message] of ofRoot) skip(part, message);
  const part = async <T>(name: StatusPart, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (thrown) {
      const { message, hint } = asBerthError(thrown, `looking at ${name}`);
      incomplete.push({ part: name, status: 'failed', message, next: hint });
      return undefined;
    }
  };
  const asRoot = <T>(name: StatusPart, work: () => Promise<T>) =>
    uid === 0 ? part(name, work) : undefined;
  // What waits first, what computes last.
  const [clusters, timers, checks, roles, drained, images, sessions] = await Promise.all([
    asRoot('clusters', () => readClusters(site?.settings, now)),
    part('timers', () => readTimers(nowMs, skip)),
    asRoot('checks', async () => {
      const { quickChecks } = await import('../../diagnose/doctor/quick-checks.ts');
      return quickChecks({ site: site?.settings?.settings, ssh: sshSettings, timeoutMs });
    }),
    hostRoles(clustersDir, sshSettings),
    part('drain', readDrain),
    part('images', () => readImages(sshSettings)),
    asRoot('sessions', () => readSessions(program, sshSettings, skip)),
  ]);
  const found = {
    configuration: [site?.status, ssh?.status].flatMap((one) => one ?? []),
    clusters: clusters ?? [],
    timers: timers ?? [],
    images: images ?? [],
    checks: (checks ?? []).filter(({ status }) => status === 'warning' || status === 'failed'),
    incomplete,
  };
  const ok = Object.values(found)
    .flat()
    .every(({ status }) => status !== 'failed');
  const ofHost = { host: hostname(), version, roles, drained: drained ?? null };
  return { ok, ...ofHost, ...found, sessions: sessions ?? [] };
}

interface ReadConfiguration<Settings> {
  readonly settings?: Settings;
  readonly status: ConfigurationStatus;
}

/** @returns undefined if this host has no clusters to configure */
async function readSite(): Promise<ReadConfiguration<LoadedSiteSettings> | undefined> {
  if (isOnlySshHost(sshFile, asInstalled)) return undefined;
  try {
    const settings = await loadSiteSettings({}, { cache: 'read' });
    const errors = settings.broken.map(({ error }) => error);
    const cache = { path: `${settings.settings.stateDir}/settings.json`, privateTo: 0 };
    return { settings, status: configurationStatus(defaultConfigFile, errors, cache) };
  } catch (thrown) {
    if (isWithoutClusters(thrown)) return undefined;
    const error = asBerthError(thrown, defaultConfigFile);
    const cache = { path: `${defaultSettings.stateDir}/settings.json`, privateTo: 0 };
    return { status: configurationStatus(defaultConfigFile, [error], cache) };
  }
}

async function readSsh(): Promise<ReadConfiguration<SshSettings>> {
  const cache = { path: sshCacheFile(sshFile) };
  try {
    const settings = await loadSshSettings({ configFile: sshFile });
    const errors = [...settings.broken.values()].map(({ error }) => error);
    return { settings, status: configurationStatus(sshFile, errors, cache) };
  } catch (thrown) {
    const error = asBerthError(thrown, sshFile);
    return { status: configurationStatus(sshFile, [error], cache) };
  }
}

function configurationStatus(
  file: string,
  errors: readonly BerthError[],
  cache: Parameters<typeof changedSources>[0],
): ConfigurationStatus {
  const { kept, changed } = seen(cache);
  const status = errors.length > 0 ? 'failed' : changed.length > 0 ? 'warning' : 'ok';
  return {
    status,
    file,
    errors: errors.map(documentError),
    keptAt: timeOrNull(kept),
    changed,
  };
}

function seen(cache: Parameters<typeof changedSources>[0]) {
  try {
    return changedSources(cache) ?? { kept: undefined, changed: [] };
  } catch {
    // An unsafe cache is among the warnings of the settings.
    return { kept: undefined, changed: [] };
  }
}

async function readClusters(
  site: LoadedSiteSettings | undefined,
  now: number,
): Promise<readonly ClusterStatus[]> {
  if (site === undefined || site.settings.clusters.length === 0) return [];
  const { askClusters } = await import('./ask-clusters.ts');
  return askClusters(site.settings, timeoutMs, now);
}

async function readTimers(nowMs: number, skip: Skip): Promise<readonly TimerStatus[]> {
  if (!hasSystemd()) {
    skip('timers', 'this host does not run systemd');
    return [];
  }
  const { timerStates } = await import('../../system/systemd-timers.ts');
  return (await timerStates('berth-', nowMs)).map(timerStatus);
}

function timerStatus(timer: TimerState): TimerStatus {
  const { lastRun, result = null, exitStatus = null, nextRun } = timer;
  return {
    ...timer,
    status: timerRating(timer),
    lastRun: timeOrNull(lastRun),
    result,
    exitStatus,
    nextRun: timeOrNull(nextRun),
  };
}

function timerRating({ active, enabled, result = 'success' }: TimerState): CheckStatus {
  if (result !== 'success' && result !== 'condition') return 'failed';
  if (!active) return enabled ? 'warning' : 'skipped';
  return result === 'condition' ? 'skipped' : 'ok';
}

async function readDrain(): Promise<HostStatus['drained']> {
  const { drainFiles, readDrainState } = await import('../../login/drain/drain-state.ts');
  const state = readDrainState(drainFiles.drain);
  if (state === undefined) return null;
  return { since: timestamp(state.since), by: state.by, reason: state.reason };
}

async function readImages(settings: SshSettings | undefined): Promise<readonly ImageStatus[]> {
  if (settings === undefined) return [];
  const { listImages } = await import('../../setup/images/list-images.ts');
  return listImages(settings, { files: false })
    .filter(({ profiles }) => profiles.length > 0)
    .map(({ image, status, profiles, damage }) => ({
      status: status === 'complete' ? 'ok' : 'failed',
      image: image ?? '',
      profiles,
      damage,
      state: status === 'complete' ? 'stored' : status,
    }));
}

async function readSessions(
  program: string,
  settings: SshSettings | undefined,
  skip: Skip,
): Promise<readonly ProfileSessions[]> {
  if (!isSshHost(sshFile)) return [];
  const { listSessions } = await import('../../login/sessions/list-sessions.ts');
  const { withProfiles } = await import('../../login/sessions/session-profile.ts');
  const none = { balancerLog: () => '', warn: () => undefined, program };
  const open = await listSessions({ run: runDir, now: Date.now, ...none });
  const until = AbortSignal.timeout(timeoutMs);
  const sessions = settings === undefined ? open : await withProfiles(open, settings, until);
  if (until.aborted) skip('sessions', 'sshd did not name all profiles in time');
  const byProfile = Map.groupBy(sessions, ({ profile, backend }) => `${profile} ${backend}`);
  return [...byProfile.values()]
    .map(profileSessions)
    .toSorted(
      (a, b) => b.sessions - a.sessions || ((a.profile ?? '') < (b.profile ?? '') ? -1 : 1),
    );
}

function profileSessions(sessions: readonly Session[]): ProfileSessions {
  const { profile = null, backend = null } = sessions[0] ?? {};
  const users = new Set(sessions.map(({ uid }) => uid)).size;
  return { profile, backend, sessions: sessions.length, users };
}
