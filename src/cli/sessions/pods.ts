import type { PodSession } from '../../sessions/backends/pod/pod-session.ts';
import { isInPod } from '../../sessions/backends/pod/list-cluster-pods.ts';
import type { ClusterTarget } from '../../clusters/access/cluster-target.ts';
import { countText } from '../../system/text/count-text.ts';
import { BerthError, asBerthError, withHint } from '../../system/errors/berth-error.ts';
import { escapedForTerminal } from '../../log.ts';
import type { Session } from '../../login/sessions/list-sessions.ts';
import { clusterTargets } from '../kit/site-options.ts';
import { type Terminal, reportError } from '../kit/terminal.ts';
import { withProgress } from '../kit/progress.ts';

/** Time limit for the clusters, which are asked in parallel. Milliseconds. */
const timeoutMs = 10_000;
/** To delete a pod, and to wait until its node has ended it. Milliseconds. */
const endingMs = 45_000;
const atOnce = 8;

/** The pods of sessions on all clusters. The error of a cluster is reported, and the others are listed. */
export async function readPods(terminal: Terminal): Promise<readonly PodSession[]> {
  const { listClusterPods } = await import('../../sessions/backends/pod/list-cluster-pods.ts');
  const { deadlineIn } = await import('../../system/deadline.ts');
  const targets = await knownTargets(terminal);
  if (targets.length === 0)
    terminal.stderr.write('no cluster allows SSH sessions (ssh_sessions in berth.yml)\n');
  const { signal } = deadlineIn(timeoutMs);
  const work = targets.map(async (target): Promise<readonly PodSession[]> => {
    try {
      return await listClusterPods(target, signal, terminal.now());
    } catch (thrown) {
      reportError(terminal, asBerthError(thrown, `cluster ${target.name}`));
      return [];
    }
  });
  const all = await withProgress(
    terminal,
    () => `waiting for ${targets.map(({ name }) => name).join(', ')}`,
    () => Promise.all(work),
  );
  return all.flat();
}

/** @throws {BerthError} as `loadSite`; without `clusters.d`, the next step names what the command can do */
async function knownTargets(terminal: Terminal): Promise<readonly ClusterTarget[]> {
  try {
    return await sessionTargets(terminal);
  } catch (thrown) {
    if (!(thrown instanceof BerthError) || thrown.code !== 'config-missing') throw thrown;
    const hint =
      'Give this node the clusters.d of the portal (`clusters_dir` of berth.yml), or leave out --all-nodes and names of pods.';
    throw withHint(thrown, hint);
  }
}

/** The clusters that allow SSH sessions, as root of this host reaches them. */
function sessionTargets(terminal: Terminal): Promise<readonly ClusterTarget[]> {
  return clusterTargets({}, terminal, ({ sshSessions }) => sshSessions !== undefined);
}

/** The sessions of this node that run in one of these pods. */
export function sessionsIn(
  sessions: readonly Session[],
  pods: readonly PodSession[],
): readonly Session[] {
  return sessions.filter((session) => pods.some((pod) => isInPod(session, pod)));
}

/** Deletes the pods, and prints a line for each. */
export async function endPodsAndReport(
  pods: readonly PodSession[],
  terminal: Terminal,
): Promise<void> {
  const { endPodSession } = await import('../../sessions/backends/pod/list-cluster-pods.ts');
  const { deadlineIn } = await import('../../system/deadline.ts');
  const { mapConcurrent } = await import('../../system/map-concurrent.ts');
  const targets = new Map((await sessionTargets(terminal)).map((target) => [target.name, target]));
  const lines: string[] = [];
  await withProgress(
    terminal,
    () => `waiting for ${countText(pods.length, 'pod')} to end; ended: ${lines.length}`,
    () =>
      mapConcurrent(pods, atOnce, async (pod) => {
        const target = targets.get(pod.cluster);
        if (target === undefined) return;
        try {
          const wasThere = await endPodSession(target, pod, deadlineIn(endingMs).signal);
          lines.push(`${wasThere ? 'ended' : 'had already ended:'} ${podText(pod)}\n`);
        } catch (thrown) {
          reportError(terminal, asBerthError(thrown, `ending ${podText(pod)}`));
        }
      }),
  );
  terminal.stdout.write(lines.join(''));
}

/** `pod u-alice/berth-base of alice`. */
export function podText({ namespace, name, user = '-' }: PodSession): string {
  return escapedForTerminal(`pod ${namespace}/${name} of ${user}`);
}
