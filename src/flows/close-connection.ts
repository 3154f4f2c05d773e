import { rmSync } from 'node:fs';
import { asBerthError, type BerthError } from '../errors.ts';
import type { User } from '../identity/user.ts';
import { endProcesses, escalation } from '../system/end-processes.ts';
import { isRunning } from '../system/processes.ts';
import {
  hangsUp,
  isOfConnection,
  userProcesses,
  type BerthProcess,
  type WantedConnection,
} from './connection-processes.ts';
import { closingFile, markClosing, type ConnectionRecord } from './connection-record.ts';
import { berthContainers, removeContainers, removeNotes, type Removed } from './end-containers.ts';
import { endOver } from './end-over.ts';
import { holdsPods } from './pod-access.ts';
import { usesPods } from './pod-cluster.ts';
import { connectionFile, type SessionSite } from './session-site.ts';
import { userSite, type UserSite } from './user-site.ts';

export interface Closed {
  readonly processes: number;
  readonly containers: number;
  /** What is still there, for the reaper to try again. */
  readonly failed: readonly BerthError[];
}

/** How long podman may go on with what the connection began. Milliseconds. */
const podmanMs = 5_000;

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
  const failed: BerthError[] = [];
  const processes = await endItsProcesses(site, part, wanted);
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
  const { endPods } = await import('./end-pods.ts');
  return endPods(site, user, held);
}

async function endItsProcesses(
  { settings }: SessionSite,
  { owner }: UserSite,
  wanted: WantedConnection,
): Promise<number> {
  const lingers = ({ container }: BerthProcess): boolean => {
    const name = /^berth-(.+)$/.exec(container ?? '')?.[1];
    const lifetime = name === undefined ? undefined : settings.profiles.get(name)?.lifetime;
    return lifetime !== undefined && lifetime.kind !== 'connection' && lifetime.linger;
  };
  const own = (): readonly BerthProcess[] =>
    userProcesses(owner).filter((one) => one.part !== 'support' && isOfConnection(one, wanted));
  const all = userProcesses(owner);
  const now = all.filter((one) => one.part !== 'support' && isOfConnection(one, wanted));
  if (now.length === 0) return 0;
  const hungUp = now.filter((one) => one.part === 'inside' && lingers(one) && hangsUp(one, all));
  const gentle = await endProcesses(() => hungUp.filter(isRunning), [['SIGHUP', 400]]);
  const ends = (one: BerthProcess): boolean =>
    one.part !== 'podman' && !(one.part === 'inside' && lingers(one));
  const first = await endProcesses(() => own().filter(ends), escalation);
  // What podman does half costs more to clear up; killed, it leaves locks and layers.
  const podman = await endProcesses(
    () => own().filter(({ part }) => part === 'podman'),
    [
      ['SIGCONT', podmanMs],
      ['SIGKILL', 2_000],
    ],
  );
  const last = await endProcesses(() => own().filter(ends), [['SIGKILL', 2_000]]);
  return gentle.ended + first.ended + podman.ended + last.ended;
}
