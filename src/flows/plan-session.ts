import { chooseProfile } from '../config/choose-profile.ts';
import { lookupUser } from '../identity/nss.ts';
import { containerName, containerRun, type ReadyMount } from '../session/container-run.ts';
import { runtimeExec } from '../session/runtime-exec.ts';
import { sessionEnvironment } from '../session/session-environment.ts';
import type { ProgramCall, SessionHost } from '../session/session-host.ts';
import { sessionRequest } from '../session/session-request.ts';
import { sessionWords } from '../session/session-words.ts';
import { podmanExec } from '../session/terminal-by.ts';
import { groupNamesOf } from '../system/group-names.ts';
import { loadSshSettings } from './load-ssh-settings.ts';
import { readyMounts } from './ready-mounts.ts';
import { runFolderOf, runFoldersOf } from './run-folder.ts';
import { warmContainer } from './warm-container.ts';

export interface PlanSessionInput {
  readonly username: string;
  readonly configFile?: string;
  readonly profile?: string;
  /** Of sshd's side. */
  readonly port?: number;
  readonly command?: string;
  readonly tty: boolean;
  readonly filesFolder: string;
}

/** What a login would do, as data. Nothing is started, and nothing of the user's home is read. */
export interface SessionPlan {
  readonly user: string;
  readonly outcome: 'session' | 'refused' | 'host-shell';
  /** Why this outcome, and this profile. */
  readonly reason: string;
  readonly session?: PlannedSession;
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
  /** What the login becomes; `CONTAINER` and PID 0 stand for what only a start tells. */
  readonly becomes: ProgramCall;
  /** Inside; without the image's own where the container does not run. */
  readonly environment: Readonly<Record<string, string>>;
}

/** @throws {BerthError} as `loadSshSettings`, `lookupUser` and `readyMounts` */
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
    return { user: user.name, outcome, reason };
  }
  const host: SessionHost = {
    user,
    storage: settings.storage,
    podman: settings.podman,
    runFolder: existingRunFolder(user),
    connection: 'CONNECTION',
  };
  return {
    user: user.name,
    outcome: 'session',
    reason,
    session: planned(input, host, choice.profile),
  };
}

function planned(
  { command, tty, filesFolder }: PlanSessionInput,
  host: SessionHost,
  profile: Parameters<typeof containerRun>[1],
): PlannedSession {
  const { mounts, skipped } = readyMounts(profile, host, filesFolder);
  const name = containerName(profile, host.connection);
  const warm = warmContainer(host.runFolder, name);
  const inside = warm ?? {
    ...{ id: 'CONTAINER', pausePid: 0, env: [], terminalBy: 'runtime' as const },
    shell: profile.shell ?? host.user.shell,
    bundledFiles: mounts.some(({ source }) => source === filesFolder),
  };
  const environment = sessionEnvironment(inside, {}, { profile, host });
  const request = sessionRequest(command === undefined ? [] : ['-c', command], undefined, tty);
  const session = {
    words: sessionWords(request, inside),
    tty,
    cwd: host.user.home,
    env: environment,
  };
  return {
    profile: profile.name,
    container: {
      name,
      runs: warm !== undefined,
      start: containerRun(host, profile, { mounts }).call,
    },
    mounts,
    skipped,
    becomes:
      tty && inside.terminalBy === 'podman'
        ? podmanExec(host, inside.id, session)
        : runtimeExec(host, inside, session),
    environment,
  };
}

/** The one that is there, else the one that PAM's hook would make. */
function existingRunFolder(user: { readonly uid: number }): string {
  try {
    return runFolderOf(user);
  } catch {
    return runFoldersOf(user)[1];
  }
}
