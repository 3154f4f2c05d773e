import type { SshSettings } from '../../config/profile/profile.ts';
import { chooseProfile } from '../../config/profile/choose-profile.ts';
import type { User } from '../../identity/user.ts';
import { lookupUser } from '../../identity/nss.ts';
import { containerName, containerRun, type ReadyMount } from '../podman/argv/podman-run.ts';
import { containerSession, sessionCall, type SessionContainer } from '../podman/argv/exec-argv.ts';
import { isLoginShell } from '../request/login-shell.ts';
import type { ProgramCall } from '../../program-call.ts';
import type { SessionHost } from '../request/session-host.ts';
import { sessionRequest } from '../request/session-request.ts';
import { groupNamesOf } from '../../system/group-names.ts';
import { brieflyAsUser } from '../../system/briefly-as-user.ts';
import type { CheckResult } from '../../finding.ts';
import { loadSshSettings } from '../../settings/load-ssh.ts';
import { type PlannedPod, planPodSession } from '../pod/plan-pod-session.ts';
import { type ReadyMounts, readyMounts } from '../podman/resolve-mounts.ts';
import { findRunFolder, runFoldersOf } from '../connections/runtime-dir.ts';
import { warmContainer } from '../podman/running-container.ts';

export interface PlanSessionInput {
  readonly username: string;
  readonly configFile?: string;
  readonly profile?: string;
  /** Of sshd's side. */
  readonly port?: number;
  readonly command?: string;
  readonly tty: boolean;
  readonly filesFolder: string;
  /** What `berth doctor` finds where a container of these profiles is to start for the user. */
  readonly check: (settings: SshSettings, user: User) => Promise<CheckResult[]>;
}

/** What a login would do, as data. Nothing is started, and nothing of the user's home is read. */
export interface SessionPlan {
  readonly user: string;
  readonly outcome: 'session' | 'refused' | 'host-shell';
  /** Why this outcome, and this profile. */
  readonly reason: string;
  /** All that is wrong with the profile, where that is why. */
  readonly mistakes?: string;
  /** Why a login would fail at the moment, as `berth doctor` finds it; empty where it would not. */
  readonly obstacles: readonly CheckResult[];
  /** In a container of this host. */
  readonly session?: PlannedSession;
  /** In a pod. */
  readonly pod?: PlannedPod;
}

export interface PlannedSession {
  readonly profile: string;
  readonly container: {
    readonly name: string;
    readonly runs: boolean;
    /** What starts it where it does not run. */
    readonly start: ProgramCall;
  };
  readonly mounts: readonly ReadyMount[];
  /** Sources that are not there and need not be. */
  readonly skipped: readonly string[];
  /** What the login becomes; `CONTAINER`, `FILE` and PID 0 stand for what only a start tells. */
  readonly becomes: ProgramCall;
  /** Inside; without the image's own where the container does not run. */
  readonly environment: Readonly<Record<string, string>>;
}

/** @throws {BerthError} as `loadSshSettings`, `lookupUser`, `readyMounts` and `planPodSession` */
export async function planSession(input: PlanSessionInput): Promise<SessionPlan> {
  const settings = await loadSshSettings(
    input.configFile === undefined ? {} : { configFile: input.configFile },
  );
  const user = lookupUser(input.username, { minimumUid: 1 });
  const choice = chooseProfile(settings, {
    user: user.name,
    groups: groupNamesOf(user.name),
    wanted: input.profile,
    port: input.port,
  });
  const { reason } = choice;
  if (choice.kind !== 'profile') {
    const outcome = choice.kind === 'refuse' ? 'refused' : 'host-shell';
    const mistakes = choice.kind === 'refuse' ? choice.error?.message : undefined;
    const why = mistakes === undefined ? {} : { mistakes };
    return { user: user.name, outcome, reason, obstacles: [], ...why };
  }
  const { profile } = choice;
  const outcome = 'session';
  const host: SessionHost = {
    user,
    storage: settings.storage,
    podman: settings.podman,
    // Else the one that PAM's hook would make.
    runFolder: findRunFolder(user) ?? runFoldersOf(user)[1],
    connection: 'CONNECTION',
  };
  const common = { user: user.name, outcome, reason } as const;
  if (profile.backend === 'pod')
    return { ...common, obstacles: [], pod: await planPodSession(input, host, profile) };
  const ofProfile = { ...settings, profiles: new Map([[profile.name, profile]]) };
  const obstacles = (await input.check(ofProfile, user)).filter(
    // Its own mounts are in the plan, or the plan fails by them.
    ({ id, status }) => status === 'failed' && id !== 'ssh-mounts',
  );
  // As the login: what the user put into these paths is followed with the user's rights.
  const look = (): Promise<ReadyMounts> =>
    Promise.resolve(readyMounts(profile, host, input.filesFolder));
  const ready = await (process.getuid?.() === 0 ? brieflyAsUser(user, look) : look());
  return { ...common, obstacles, session: planned(input, host, profile, ready) };
}

function planned(
  { command, tty, filesFolder }: PlanSessionInput,
  host: SessionHost,
  profile: Parameters<typeof containerRun>[1],
  { mounts, skipped }: ReadyMounts,
): PlannedSession {
  const name = containerName(profile, host.connection);
  const warm = warmContainer(host, name);
  const container: SessionContainer = warm ?? {
    ...{ id: 'CONTAINER', pausePid: 0, env: [], terminalBy: 'runtime' },
    ...{ shell: profile.shell ?? shellInside(host.user), cwd: host.user.home },
    bundledFiles: mounts.some(({ source }) => source === filesFolder),
  };
  const request = sessionRequest(command === undefined ? [] : ['-c', command], undefined, tty);
  const session = containerSession(host, container, { request, profile, env: {} });
  return {
    profile: profile.name,
    container: {
      name,
      runs: warm !== undefined,
      start: containerRun(host, profile, { mounts }),
    },
    mounts,
    skipped,
    becomes: withoutFile(sessionCall(host, container, session, 'FILE')),
    environment: session.env,
  };
}

/** As a start finds it in most images; Berth's own login is in none. */
const shellInside = ({ shell }: SessionHost['user']): string =>
  isLoginShell(shell) ? '/bin/bash' : shell;

/** What is in the file is told apart: it is not read out of a plan. */
function withoutFile({ file, args, env }: ProgramCall): ProgramCall {
  return { file, args, env };
}
