import { isLoginShell } from '../../session/session-request.ts';
import type { User } from '../../identity/nss.ts';
import { asUserThenRoot } from '../../system/as-user.ts';
import type { BackendPlan, PlanInput, PlannedSession, SessionToOpen } from '../backend.ts';
import { containerName, podmanRunCommand } from './argv/podman-run.ts';
import { containerSession, sessionCommand, type SessionContainer } from './argv/session-command.ts';
import { type ResolvedMounts, resolveMounts } from './resolve-mounts.ts';
import { runningContainer } from './running-container.ts';

/** Plans a session in a container. @throws {BerthError} the errors of `resolveMounts` */
export async function planContainerSession(
  session: SessionToOpen,
  { settings, check }: PlanInput,
): Promise<BackendPlan> {
  const { host, profile, toolsDir } = session;
  const ofProfile = { ...settings, profiles: new Map([[profile.name, profile]]) };
  const obstacles = (await check(ofProfile, host.user)).filter(
    // Mounts are part of the plan: a missing one is listed there or makes it fail.
    ({ id, status }) => status === 'failed' && id !== 'ssh-mounts',
  );
  // As the user: symbolic links in these paths are followed with the user's rights, as in a login.
  const look = (): Promise<ResolvedMounts> =>
    Promise.resolve(resolveMounts(profile, host, toolsDir));
  const ready = await (process.getuid?.() === 0 ? asUserThenRoot(host.user, look) : look());
  return { obstacles, session: planned(session, ready) };
}

function planned(
  { host, profile, request, env, toolsDir }: SessionToOpen,
  { mounts, skipped }: ResolvedMounts,
): PlannedSession {
  const name = containerName(profile, host.connection);
  const warm = runningContainer(host, name);
  const container: SessionContainer = warm ?? {
    ...{ id: 'CONTAINER', pausePid: 0, env: [], terminalRelay: 'runtime' },
    ...{ shell: profile.shell ?? shellInside(host.user), cwd: host.user.home },
    hasBundledTools: mounts.some(({ source }) => source === toolsDir),
  };
  const inside = containerSession(host, container, { request, profile, env });
  // Leaves out the text of the start file, which holds the session's environment.
  const { file, args, env: own } = sessionCommand(host, container, inside, 'FILE');
  return {
    profile: profile.name,
    container: {
      ...{ name, runs: warm !== undefined },
      start: podmanRunCommand(host, profile, { mounts }),
    },
    ...{ mounts, skipped, becomes: { file, args, env: own }, environment: inside.env },
  };
}

/** The user's own shell, which most images have; Berth's login program is in no image. */
function shellInside({ shell }: User): string {
  return isLoginShell(shell) ? '/bin/bash' : shell;
}
