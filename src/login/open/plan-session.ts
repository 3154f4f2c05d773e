import type { BackendPlan, PlanInput } from '../../sessions/backends/backend.ts';
import { planInBackend } from '../../sessions/backends/plan-in-backend.ts';
import { chooseProfile } from '../../config/schema/profile/choose-profile.ts';
import { findRuntimeDir, mountedRuntimeDir } from '../../sessions/connections/runtime-dir.ts';
import type { ErrorCode } from '../../system/errors/error-codes.ts';
import { lookupUser } from '../../system/identity/nss.ts';
import { sessionRequest } from '../../sessions/request/session-request.ts';
import { loadSshSettings, type SshSettingsFiles } from '../../config/load/load-ssh-settings.ts';
import { groupNamesOf } from '../../system/group-names.ts';

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
  readonly check: PlanInput['check'];
}

/** What a login would do, as data. Planning starts nothing and reads nothing in the user's home. */
export interface SessionPlan extends BackendPlan {
  readonly user: string;
  readonly outcome: 'session' | 'refused' | 'host-shell';
  /** Why this outcome and this profile were chosen. */
  readonly reason: string;
  /** Code of the reason, if the user is refused: `profile-not-matched`, or a mistake of the configuration. */
  readonly code?: ErrorCode;
  /** All mistakes in the profile, if they are the reason. */
  readonly mistakes?: string;
}

/** @throws {BerthError} the errors of `loadSshSettings`, `lookupUser`, `planInBackend` */
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
  const { command, tty, toolsDir, check, files } = input;
  const { storage, podman } = settings;
  // If there is no runtime directory, the one that the PAM hook would create.
  const runtimeDir = findRuntimeDir(user) ?? mountedRuntimeDir(user);
  const session = {
    host: { user, storage, podman, runtimeDir, connection: 'CONNECTION' },
    request: sessionRequest(command === undefined ? [] : ['-c', command], undefined, tty),
    profile,
    env: {},
    toolsDir,
  };
  const plan = await planInBackend(session, { settings, check, overlay: files.overlay });
  return { user: user.name, outcome: 'session', reason, ...plan };
}
