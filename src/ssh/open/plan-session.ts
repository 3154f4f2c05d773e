import type { SshSettings } from '../../config/schema/profile/profile.ts';
import { chooseProfile } from '../../config/schema/profile/choose-profile.ts';
import type { ErrorCode } from '../../errors/berth-error.ts';
import type { User } from '../../identity/nss.ts';
import { lookupUser } from '../../identity/nss.ts';
import {
  containerName,
  podmanRunCommand,
  type ResolvedMount,
} from '../../backends/podman/argv/podman-run.ts';
import {
  containerSession,
  sessionCommand,
  type SessionContainer,
} from '../../backends/podman/argv/session-command.ts';
import { isLoginShell } from '../../session/login-shell.ts';
import type { ProgramCall } from '../../program-call.ts';
import type { SessionHost } from '../../session/session-host.ts';
import { sessionRequest } from '../../session/session-request.ts';
import { groupNamesOf } from '../../system/group-names.ts';
import { asUserThenRoot } from '../../system/as-user.ts';
import type { CheckResult } from '../../check-result.ts';
import { loadSshSettings, type SshSettingsFiles } from '../../config/load/load-ssh-settings.ts';
import { type PlannedPod, planPodSession } from '../../backends/pod/plan-pod-session.ts';
import { type ResolvedMounts, resolveMounts } from '../../backends/podman/resolve-mounts.ts';
import { findRuntimeDir, mountedRuntimeDir } from '../../connections/runtime-dir.ts';
import { runningContainer } from '../../backends/podman/running-container.ts';

export interface PlanSessionInput {
  readonly username: string;
  /** Which configuration is read. */
  readonly files: Pick<SshSettingsFiles, 'configFile' | 'overlay'>;
  readonly profile?: string;
  /** Port of sshd on this host. */
  readonly port?: number;
  readonly command?: string;
  readonly tty: boolean;
  readonly toolsDir: string;
  /** Runs the checks of `berth doctor` for a container of these profiles and this user. */
  readonly check: (settings: SshSettings, user: User) => Promise<CheckResult[]>;
}

/** What a login would do, as data. Planning starts nothing and reads nothing in the user's home. */
export interface SessionPlan {
  readonly user: string;
  readonly outcome: 'session' | 'refused' | 'host-shell';
  /** Why this outcome and this profile were chosen. */
  readonly reason: string;
  /** Code of the reason, if the user is refused: `profile-not-matched`, or a mistake of the configuration. */
  readonly code?: ErrorCode;
  /** All mistakes in the profile, if they are the reason. */
  readonly mistakes?: string;
  /** Failed checks of `berth doctor` that would make a login fail now. */
  readonly obstacles: readonly CheckResult[];
  /** Set for a session in a container of this host. */
  readonly session?: PlannedSession;
  /** Set for a session in a pod. */
  readonly pod?: PlannedPod;
}

export interface PlannedSession {
  readonly profile: string;
  readonly container: {
    readonly name: string;
    readonly runs: boolean;
    /** Starts the container if it is not running. */
    readonly start: ProgramCall;
  };
  readonly mounts: readonly ResolvedMount[];
  /** Missing sources of mounts that have `missing: skip`. */
  readonly skipped: readonly string[];
  /** What replaces the login; `CONTAINER`, `FILE` and PID 0 stand for values known only after a start. */
  readonly becomes: ProgramCall;
  /** The session's environment; without the image's variables if the container is not running. */
  readonly environment: Readonly<Record<string, string>>;
}

/** @throws {BerthError} the errors of `loadSshSettings`, `lookupUser`, `resolveMounts` and `planPodSession` */
export async function planSession(input: PlanSessionInput): Promise<SessionPlan> {
  const settings = await loadSshSettings(input.files);
  const user = lookupUser(input.username, { minimumUid: 1 });
  const choice = chooseProfile(settings, {
    user: user.name,
    groups: groupNamesOf(user.name),
    wanted: input.profile,
    port: input.port,
  });
  const { reason } = choice;
  if (choice.kind !== 'profile') {
    const common = { user: user.name, reason, obstacles: [] };
    if (choice.kind === 'host-shell') return { ...common, outcome: 'host-shell' };
    const why = choice.error === undefined ? {} : { mistakes: choice.error.message };
    return { ...common, outcome: 'refused', code: choice.code, ...why };
  }
  const { profile } = choice;
  const outcome = 'session';
  const host: SessionHost = {
    user,
    storage: settings.storage,
    podman: settings.podman,
    // If there is none, the one that the PAM hook would create.
    runtimeDir: findRuntimeDir(user) ?? mountedRuntimeDir(user),
    connection: 'CONNECTION',
  };
  const common = { user: user.name, outcome, reason } as const;
  if (profile.backend === 'pod')
    return { ...common, obstacles: [], pod: await planPodSession(input, host, profile) };
  const ofProfile = { ...settings, profiles: new Map([[profile.name, profile]]) };
  const obstacles = (await input.check(ofProfile, user)).filter(
    // Mounts are part of the plan: a missing one is listed there or makes it fail.
    ({ id, status }) => status === 'failed' && id !== 'ssh-mounts',
  );
  // As the user: symbolic links in these paths are followed with the user's rights, as in a login.
  const look = (): Promise<ResolvedMounts> =>
    Promise.resolve(resolveMounts(profile, host, input.toolsDir));
  const ready = await (process.getuid?.() === 0 ? asUserThenRoot(user, look) : look());
  return { ...common, obstacles, session: planned(input, host, profile, ready) };
}

function planned(
  { command, tty, toolsDir }: PlanSessionInput,
  host: SessionHost,
  profile: Parameters<typeof podmanRunCommand>[1],
  { mounts, skipped }: ResolvedMounts,
): PlannedSession {
  const name = containerName(profile, host.connection);
  const warm = runningContainer(host, name);
  const container: SessionContainer = warm ?? {
    ...{ id: 'CONTAINER', pausePid: 0, env: [], terminalRelay: 'runtime' },
    ...{ shell: profile.shell ?? shellInside(host.user), cwd: host.user.home },
    hasBundledTools: mounts.some(({ source }) => source === toolsDir),
  };
  const request = sessionRequest(command === undefined ? [] : ['-c', command], undefined, tty);
  const session = containerSession(host, container, { request, profile, env: {} });
  return {
    profile: profile.name,
    container: {
      name,
      runs: warm !== undefined,
      start: podmanRunCommand(host, profile, { mounts }),
    },
    mounts,
    skipped,
    becomes: withoutFile(sessionCommand(host, container, session, 'FILE')),
    environment: session.env,
  };
}

/** The user's own shell, which most images have; Berth's login program is in no image. */
const shellInside = ({ shell }: SessionHost['user']): string =>
  isLoginShell(shell) ? '/bin/bash' : shell;

/** Leaves out the text of the start file, which holds the session's environment. */
function withoutFile({ file, args, env }: ProgramCall): ProgramCall {
  return { file, args, env };
}
