import { hostname } from 'node:os';
import { loadSiteSettings } from '../../config/load/load-site-settings.ts';
import { namespaceOf } from '../../kube/objects/user-names.ts';
import { isLoginShell } from '../request/session-request.ts';
import { asUserThenRoot } from '../../system/as-user.ts';
import { groupNamesById } from '../../system/group-names.ts';
import type {
  BackendPlan,
  PlanInput,
  PlannedJob,
  PlannedPod,
  PlannedSession,
  SessionToOpen,
} from './backend.ts';
import { allocationScript, loginOnNodes } from './slurm/argv/allocation-script.ts';
import { jobName } from './slurm/argv/slurm-job.ts';
import { podSession } from './pod/objects/exec-argv.ts';
import { podObject } from './pod/objects/pod-object.ts';
import { podCluster } from './pod/pod-cluster.ts';
import { containerName, podmanRunCommand } from './podman/argv/podman-run.ts';
import {
  containerSession,
  sessionCommand,
  type SessionContainer,
} from './podman/argv/session-command.ts';
import { type ResolvedMounts, resolveMounts } from './podman/resolve-mounts.ts';
import { runningContainer } from './podman/running-container.ts';

/** What `openInBackend` would start and run. @throws {BerthError} the errors of the two functions below */
export async function planInBackend(
  session: SessionToOpen,
  input: PlanInput,
): Promise<BackendPlan> {
  switch (session.profile.backend) {
    case 'podman':
      return planContainerSession(session, input);
    case 'pod':
      return { obstacles: [], pod: await planPodSession(session, input) };
    case 'slurm':
      return { obstacles: [], job: planJobSession(session) };
  }
}

/** Plans a session without a request to Slurm. `KEY` stands for a name at random. */
function planJobSession({ host, profile, toolsDir }: SessionToOpen): PlannedJob {
  const name = jobName(profile, host.connection);
  const login = loginOnNodes(toolsDir);
  const script = allocationScript(profile, host, { name, key: 'KEY', login });
  return { profile: profile.name, name, script };
}

/** Plans a session without a request to the cluster. @throws {BerthError} as `loadSiteSettings` and `podCluster` */
async function planPodSession(
  { host, profile, request, env }: SessionToOpen,
  { overlay }: PlanInput,
): Promise<PlannedPod> {
  const { user, connection } = host;
  const cluster = podCluster(profile, await loadSiteSettings({ overlay }, { cache: 'read' }));
  const pod = podObject({
    user,
    profile,
    namespace: namespaceOf(cluster.namespacePrefix, user.name),
    connection,
    loginHost: hostname(),
    groupNames: await groupNamesById([user.gid, ...user.groups]),
  });
  const { opening } = podSession(host, profile, { request, env, nonce: 'NONCE' });
  return { profile: profile.name, cluster: cluster.name, pod, exec: opening.words };
}

/** Plans a session in a container. @throws {BerthError} the errors of `resolveMounts` */
async function planContainerSession(
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
  const running = runningContainer(host, name);
  const container: SessionContainer = running ?? {
    id: 'CONTAINER',
    pid: 0,
    pausePid: 0,
    env: [],
    terminalRelay: 'runtime',
    // The user's own shell, which most images have; Berth's login program is in no image.
    shell: profile.shell ?? (isLoginShell(host.user.shell) ? '/bin/bash' : host.user.shell),
    cwd: host.user.home,
    hasBundledTools: mounts.some(({ source }) => source === toolsDir),
  };
  const inside = containerSession(host, container, { request, profile, env });
  // Leaves out the text of the start file, which holds the session's environment.
  const { file, args, env: own } = sessionCommand(host, container, inside, 'FILE');
  return {
    profile: profile.name,
    container: {
      name,
      runs: running !== undefined,
      start: podmanRunCommand(host, profile, { mounts }),
    },
    mounts,
    skipped,
    becomes: { file, args, env: own },
    environment: inside.env,
  };
}
