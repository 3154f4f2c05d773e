import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { asBerthError } from '../../../system/errors/berth-error.ts';
import type { User } from '../../../system/identity/nss.ts';
import type { Logger } from '../../../log.ts';
import { withApiClient } from '../../../kube/api-client.ts';
import { deletePod, waitForPodDeletion } from '../../../kube/delete-object.ts';
import { podProcesses, sessionProcesses } from './objects/pod-processes.ts';
import { readPod } from './read-pod.ts';
import { leftoversArgv } from './objects/pod-scripts.ts';
import { deadlineIn } from '../../../system/deadline.ts';
import { currentGroupIds, groupNamesById } from '../../../system/group-names.ts';
import { isTerminal } from '../../../system/controlling-terminal.ts';
import type { PodTarget } from '../../exec/open-exec.ts';
import { PodDialogue } from '../../exec/pod-command.ts';

export interface ChangedGroupsInput extends PodTarget {
  readonly host: { readonly user: User };
  /** The groups with which the pod was created (`groupsText`), as the pod reports them. */
  readonly had: string;
  readonly log: Logger;
}

/** Time limit; the user waits meanwhile. Milliseconds. */
const timeoutMs = 10_000;

/** Longest wait for the node to end the pod. Milliseconds. */
const endingMs = 10_000;

/** The process that this login itself has in the pod takes a moment to exit: number of checks, and milliseconds between them. */
const [looks, everyMs] = [10, 100] as const;

/** Tolerance for the age of a process, which is measured with its node's clock. Milliseconds. */
const marginMs = 500;

/**
 * Handles a pod that was created when its user had other groups. The groups of a running pod cannot be changed. The pod is
 * deleted if no session has a process in it. Otherwise the session runs with the pod's groups, and a terminal shows a
 * message.
 *
 * @returns whether the pod was deleted; after an error it is kept, and the error is logged
 */
export async function handleChangedGroups(changed: ChangedGroupsInput): Promise<boolean> {
  const { host, had, log } = changed;
  const before = had.split(' ').filter((gid) => /^\d{1,10}$/.test(gid));
  const now = new Set([host.user.gid, ...host.user.groups].filter((gid) => gid !== 0));
  const old = new Set(before.map(Number));
  const missing = [...now].filter((gid) => !old.has(gid));
  const gone = [...old].filter((gid) => !now.has(gid));
  const fields = { missing: missing.join(','), gone: gone.join(',') };
  try {
    // A connection that was opened before the change still has the former groups, and must not create a pod with them.
    const current = await currentGroupIds(host.user.name);
    if (current === undefined || !sameSet(now, new Set(current.filter((gid) => gid !== 0))))
      return false;
    if (await removedIfAlone(changed)) {
      const code = 'pod-groups-renewed';
      log.info("deleted the pod to apply the user's changed groups", { code, ...fields });
      tell('your groups have changed: your session gets a new pod');
      return true;
    }
    const code = 'pod-groups-outdated';
    log.warning(
      'the session runs with outdated groups: the user has to end all processes in the pod and log in again',
      { code, ...fields },
    );
    const names = await groupNamesById([...missing, ...gone]);
    const named = (gids: readonly number[]): string =>
      gids.map((gid) => names.get(gid) ?? String(gid)).join(', ');
    tell(
      [
        'your groups have changed, but your pod still has the old ones',
        ...(missing.length === 0 ? [] : [`missing here: ${named(missing)}`]),
        ...(gone.length === 0 ? [] : [`no longer yours: ${named(gone)}`]),
        'to get a new pod, end all your processes in it and log in again',
      ].join('; '),
    );
  } catch (thrown) {
    log.error(asBerthError(thrown, "comparing the pod's groups with the user's"), fields);
  }
  return false;
}

async function removedIfAlone({ server, pod }: ChangedGroupsInput): Promise<boolean> {
  const { signal } = deadlineIn(timeoutMs);
  return withApiClient(server, deadlineIn(2 * timeoutMs + endingMs).signal, async (client) => {
    const { namespace, pod: name } = pod;
    const found = await readPod(client, { namespace, name });
    // Another login has deleted it.
    if (found === undefined) return true;
    if (!(await isAlone({ server, pod }, signal))) return false;
    const id = { name, namespace, uid: found.metadata?.uid ?? '' };
    await deletePod(client, id);
    // A watch may show it as running for a moment more.
    await waitForPodDeletion(client, id, endingMs);
    return true;
  });
}

/** Whether no process of a session is in the pod. */
async function isAlone(place: PodTarget, signal: AbortSignal): Promise<boolean> {
  const dialogue = new PodDialogue({ ...place, argv: leftoversArgv(), signal });
  try {
    const ownShellPid = Number(await dialogue.first());
    for (let look = 1; ; look += 1) {
      const others = sessionProcesses(podProcesses(await dialogue.ask('table')), ownShellPid);
      if (others.length === 0) return true;
      // The time since this process started.
      const oursMs = performance.now() + marginMs;
      if (look === looks || others.some(({ age }) => age * 10 > oursMs)) return false;
      await sleep(everyMs);
    }
  } finally {
    await dialogue.close();
  }
}

function sameSet(one: ReadonlySet<number>, other: ReadonlySet<number>): boolean {
  return one.size === other.size && [...one].every((each) => other.has(each));
}

/** Only to a terminal: a pipe is read by programs. */
function tell(text: string): void {
  if (isTerminal(2)) writeSync(2, `${text}\n`);
}
