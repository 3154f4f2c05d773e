import { chmodSync, chownSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { BerthError, isErrno } from '../errors.ts';
import type { User } from '../identity/user.ts';
import type { ApiServer } from '../reconcile/api-server.ts';
import { namesIn } from '../system/names-in.ts';
import { writePrivateFile } from '../system/private-file.ts';
import { ensureRootFolder, ensureUserFolder } from '../system/root-folders.ts';
import type { SessionSite } from './session-site.ts';

/**
 * A user's way to the pods of one cluster while a connection is open: what PAM's hook hands over and the
 * login takes. The token is the user's own ServiceAccount's, and dead when the last connection has ended.
 */
export interface PodAccess {
  /** OnDemand's name of the cluster. */
  readonly cluster: string;
  readonly namespace: string;
  /** With the token. */
  readonly server: ApiServer;
  /** Of the token, seconds since the epoch. */
  readonly expiry: number;
}

type Place = Pick<SessionSite, 'run'>;

function accessFolder({ run }: Place, uid: number): string {
  return `${run}/pods/${uid}`;
}

function accessFile(place: Place, uid: number, cluster: string): string {
  return `${accessFolder(place, uid)}/${encodeURIComponent(cluster)}.json`;
}

/** Of the user alone, for what the user's sessions say to each other. */
export function bridgeFolder(place: Place, uid: number): string {
  return `${accessFolder(place, uid)}/bridge`;
}

/** In a folder of root's, the file for the user's eyes alone. @throws `folder-unsafe`, errors of the system */
export function writePodAccess(place: Place, user: User, access: PodAccess): void {
  ensureRootFolder(accessFolder(place, user.uid));
  ensureUserFolder(bridgeFolder(place, user.uid), user);
  const path = accessFile(place, user.uid, access.cluster);
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  writeFileSync(temporary, JSON.stringify(access), { flag: 'wx', mode: 0o600 });
  chownSync(temporary, user.uid, user.gid);
  chmodSync(temporary, 0o400);
  renameSync(temporary, path);
}

/** @returns Nothing where there is none, or none that can be read. */
export function readPodAccess(place: Place, uid: number, cluster: string): PodAccess | undefined {
  try {
    return JSON.parse(readFileSync(accessFile(place, uid, cluster), 'utf8')) as PodAccess;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'EACCES') || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Those of all clusters that the user has a way to. */
export function heldPodAccesses(place: Place, uid: number): PodAccess[] {
  return namesIn(accessFolder(place, uid))
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => readPodAccess(place, uid, decodeURIComponent(name.slice(0, -5))) ?? []);
}

export function removePodAccess(place: Place, uid: number, cluster: string): void {
  rmSync(accessFile(place, uid, cluster), { force: true });
}

/** Since when pods of the user wait for a next connection, in milliseconds since the epoch. */
export function readPodsWaiting(place: Place, uid: number): number | undefined {
  try {
    const since = Number(readFileSync(waitingFile(place, uid), 'latin1'));
    return since > 0 ? since : undefined;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** @param since Nothing where no pod waits. */
export function writePodsWaiting(place: Place, uid: number, since: number | undefined): void {
  if (since === undefined) rmSync(waitingFile(place, uid), { force: true });
  else writePrivateFile(waitingFile(place, uid), `${since}\n`);
}

function waitingFile(place: Place, uid: number): string {
  return `${accessFolder(place, uid)}/waiting`;
}

/** The login's word where PAM's hook could not hand anything over. */
export function podAccessMissing(cluster: string): BerthError {
  return new BerthError(`there is no way to your pods on the cluster ${cluster} at the moment`, {
    code: 'pod-access-missing',
    exit: 'temporary',
    hint: 'hooks/pam-session asks the cluster for it at each login: see its line in syslog, and `berth doctor`.',
    fields: { cluster },
  });
}
