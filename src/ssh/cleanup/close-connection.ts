import { rmSync } from 'node:fs';
import { asBerthError, type BerthError } from '../../errors/berth-error.ts';
import type { User } from '../../identity/nss.ts';
import type { ConnectionFilter } from '../../backends/podman/connection-processes.ts';
import {
  closingRecordPath,
  markClosing,
  type ConnectionRecord,
} from '../../connections/connection-record.ts';
import { endConnectionProcesses } from './end-connection-processes.ts';
import {
  listBerthContainers,
  removeContainers,
  removeContainerFiles,
  type RemovalResult,
} from '../../backends/podman/remove-containers.ts';
import { removeExpiredContainers } from '../../backends/podman/expired-containers.ts';
import { hasPodGrants } from '../../backends/pod/pod-grant-file.ts';
import { usesPods } from '../../backends/pod/pod-cluster.ts';
import { connectionRecordPath, type SessionContext } from '../../connections/state-paths.ts';
import { readUserState } from '../../backends/podman/user-state.ts';

export interface ClosedConnection {
  readonly processes: number;
  readonly containers: number;
  /** What could not be removed; the reaper tries again. */
  readonly failed: readonly BerthError[];
}

/**
 * Ends what one connection started: its processes and its containers. After the user's last connection, also ends
 * every container and pod without a grace period. Repeated or concurrent calls have the same effect as one.
 *
 * @param gone Whether sshd's monitor has ended, so that sshd's other process of the connection is ended too.
 */
export async function closeConnection(
  site: SessionContext,
  user: User,
  connection: { readonly id: string; readonly record: ConnectionRecord; readonly gone: boolean },
): Promise<ClosedConnection> {
  const { id, record, gone } = connection;
  const file = connectionRecordPath(site, user.uid, id);
  // Read first: after markClosing, a concurrent cleanup may revoke the token.
  const held = hasPodGrants(site, user.uid);
  // From here on the connection is not open, and the reaper continues if this process is killed.
  markClosing(file);
  const part = await readUserState(site, user);
  const wanted: ConnectionFilter = {
    ...{ id, session: record.session, orphanedSshd: gone },
    hostProcesses: record.hostProcesses === true,
  };
  const { processes, failed: stay } = await endConnectionProcesses(site, part, wanted);
  // A user who damages the list of containers must not keep pods.
  const steps: readonly (() => Promise<RemovalResult>)[] = [
    async () => {
      const own = (await listBerthContainers(site, part)).filter((one) => one.connection === id);
      return await removeContainers(part, own);
    },
    async () => {
      await removeContainerFiles(part, (file) => file.includes(`-${id}.`));
      return await removeExpiredContainers(site, part);
    },
    () => cleanUpPodsIfUsed(site, user, held),
  ];
  const { removed: containers, failed: left } = await runCleanupSteps(user, steps);
  const failed = [...stay, ...left];
  if (failed.length === 0) rmSync(closingRecordPath(file), { force: true });
  return { processes, containers, failed };
}

/** Runs the steps in order, each even if one before it failed. */
export async function runCleanupSteps(
  { name }: User,
  steps: readonly (() => Promise<RemovalResult>)[],
): Promise<RemovalResult> {
  let removed = 0;
  const failed: BerthError[] = [];
  for (const step of steps) {
    try {
      const ended = await step();
      removed += ended.removed;
      failed.push(...ended.failed);
    } catch (error) {
      failed.push(asBerthError(error, `cleaning up after ${name}`));
    }
  }
  return { removed, failed };
}

/** Imports the cluster code only on hosts that use pods. @param held See `cleanUpPods`. */
export async function cleanUpPodsIfUsed(
  site: SessionContext,
  user: User,
  held?: boolean,
): Promise<RemovalResult> {
  if (!usesPods(site.settings)) return { removed: 0, failed: [] };
  const { cleanUpPods } = await import('../../backends/pod/cleanup-pods.ts');
  return cleanUpPods(site, user, held);
}
