import { rmSync } from 'node:fs';
import { asBerthError, type BerthError } from '../../errors.ts';
import type { User } from '../../identity/user.ts';
import type { WantedConnection } from './connection-processes.ts';
import {
  closingFile,
  markClosing,
  type ConnectionRecord,
} from '../connections/connection-record.ts';
import { endConnectionProcesses } from './end-connection-processes.ts';
import {
  berthContainers,
  removeContainers,
  removeNotes,
  type Removed,
} from './remove-containers.ts';
import { endOver } from './expired-containers.ts';
import { holdsPods } from '../pod/pod-grant-file.ts';
import { usesPods } from '../pod/pod-cluster.ts';
import { connectionFile, type SessionSite } from '../connections/state-paths.ts';
import { userSite } from './user-state.ts';

export interface Closed {
  readonly processes: number;
  readonly containers: number;
  /** What is still there, for the reaper to try again. */
  readonly failed: readonly BerthError[];
}

/**
 * Ends what one connection started: its processes, its containers, and after the user's last one all
 * that has no grace. Asked twice, or by PAM and the reaper, it does the same as once.
 *
 * @param gone True where sshd's monitor is no more, so that sshd's other process has nobody to serve.
 */
export async function endConnection(
  site: SessionSite,
  user: User,
  connection: { readonly id: string; readonly record: ConnectionRecord; readonly gone: boolean },
): Promise<Closed> {
  const { id, record, gone } = connection;
  const file = connectionFile(site, user.uid, id);
  // Before: who sees that this one counts no more may take the way to its pods away.
  const held = holdsPods(site, user.uid);
  // From here on it counts for nobody, and the reaper goes on where this process is killed.
  markClosing(file);
  const part = await userSite(site, user);
  const wanted: WantedConnection = {
    ...{ id, session: record.session, orphanedSshd: gone },
    hostProcesses: record.hostProcesses === true,
  };
  const { processes, failed: stay } = await endConnectionProcesses(site, part, wanted);
  const failed: BerthError[] = [...stay];
  // One after the other, and each though the one before failed: what a user made of the list of containers
  // is no reason to leave the pods.
  const steps: readonly (() => Promise<Removed>)[] = [
    async () => {
      const own = (await berthContainers(site, part)).filter((one) => one.connection === id);
      return await removeContainers(part, own);
    },
    async () => {
      await removeNotes(part, (file) => file.includes(`-${id}.`));
      return await endOver(site, part);
    },
    () => endPodsOf(site, user, held),
  ];
  let containers = 0;
  for (const step of steps) {
    try {
      const ended = await step();
      containers += ended.removed;
      failed.push(...ended.failed);
    } catch (error) {
      failed.push(asBerthError(error, `what ${user.name} left`));
    }
  }
  if (failed.length === 0) rmSync(closingFile(file), { force: true });
  return { processes, containers, failed };
}

/** Nothing of clusters is loaded on a host that has no pods. @param held As of `endPods`. */
export async function endPodsOf(site: SessionSite, user: User, held?: boolean): Promise<Removed> {
  if (!usesPods(site.settings)) return { removed: 0, failed: [] };
  const { endPods } = await import('./cleanup-pods.ts');
  return endPods(site, user, held);
}
