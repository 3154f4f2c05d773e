import {
  chmodSync,
  chownSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
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
  giveFile(accessFile(place, user.uid, access.cluster), user, access);
  rmSync(refusalFile(place, user.uid, access.cluster), { force: true });
}

/** Several logins of one user do this at the same moment. */
function giveFile(path: string, { uid, gid }: User, content: object): void {
  const temporary = `${path}.${process.pid}.new`;
  rmSync(temporary, { force: true });
  writeFileSync(temporary, JSON.stringify(content), { flag: 'wx', mode: 0o600 });
  chownSync(temporary, uid, gid);
  chmodSync(temporary, 0o400);
  renameSync(temporary, path);
}

/** A file of ours has a token and a few certificates. Bytes. */
const longestFile = 256 * 1024;

/**
 * Root reads it too, and the file is the user's: it may hold anything.
 *
 * @returns Nothing where there is none, or none that can be read.
 */
export function readPodAccess(place: Place, uid: number, cluster: string): PodAccess | undefined {
  const path = accessFile(place, uid, cluster);
  try {
    if (statSync(path).size > longestFile) return undefined;
    const access = JSON.parse(readFileSync(path, 'utf8')) as Partial<PodAccess> | null;
    return isAccess(access) ? access : undefined;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'EACCES') || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isAccess(access: Partial<PodAccess> | null): access is PodAccess {
  return (
    typeof access?.server?.url === 'string' &&
    typeof access.server.token === 'string' &&
    typeof access.namespace === 'string' &&
    typeof access.cluster === 'string' &&
    typeof access.expiry === 'number'
  );
}

/** Those of all clusters that the user has a way to. */
export function heldPodAccesses(place: Place, uid: number): PodAccess[] {
  return namesIn(accessFolder(place, uid))
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => readPodAccess(place, uid, decodeURIComponent(name.slice(0, -5))) ?? []);
}

/**
 * The user's word that a way is none any more: the cluster does not take its token. PAM's hook then makes
 * one anew at the next login, whatever the time of this one.
 */
export function spoilPodAccess(place: Place, { uid }: User, { cluster }: PodAccess): void {
  const path = accessFile(place, uid, cluster);
  try {
    chmodSync(path, 0o600);
    truncateSync(path);
  } catch (error) {
    // The last connection was closed meanwhile.
    if (!isErrno(error, 'ENOENT')) throw error;
  }
}

/** By the names of root's folder alone: what is in the files, the user can change. */
export function podAccessClusters(place: Place, uid: number): string[] {
  return namesIn(accessFolder(place, uid))
    .filter((name) => name.endsWith('.json'))
    .map((name) => decodeURIComponent(name.slice(0, -5)));
}

/** Whether the user has a way to pods, or what is left of one. */
export function holdsPods(place: Place, uid: number): boolean {
  return podAccessClusters(place, uid).length > 0;
}

export function removePodAccess(place: Place, uid: number, cluster: string): void {
  rmSync(accessFile(place, uid, cluster), { force: true });
  rmSync(refusalFile(place, uid, cluster), { force: true });
}

/** Pods of a user who has no connection. Milliseconds since the epoch. */
export interface PodsWaiting {
  readonly since: number;
  /** Before this nothing is to be done about them. */
  readonly due: number;
}

export function readPodsWaiting(place: Place, uid: number): PodsWaiting | undefined {
  try {
    const [since = 0, due = 0] = readFileSync(waitingFile(place, uid), 'latin1')
      .split(' ')
      .map(Number);
    return since > 0 ? { since, due } : undefined;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** @param waiting Nothing where no pod waits. */
export function writePodsWaiting(
  place: Place,
  uid: number,
  waiting: PodsWaiting | undefined,
): void {
  if (waiting === undefined) rmSync(waitingFile(place, uid), { force: true });
  else writePrivateFile(waitingFile(place, uid), `${waiting.since} ${waiting.due}\n`);
}

function waitingFile(place: Place, uid: number): string {
  return `${accessFolder(place, uid)}/waiting`;
}

function refusalFile(place: Place, uid: number, cluster: string): string {
  return `${accessFolder(place, uid)}/${encodeURIComponent(cluster)}.refused`;
}

/** Why there is no way, for the login to say. @throws `folder-unsafe`, errors of the system */
export function writePodRefusal(
  place: Place,
  user: User,
  cluster: string,
  { message, hint }: BerthError,
): void {
  ensureRootFolder(accessFolder(place, user.uid));
  giveFile(refusalFile(place, user.uid, cluster), user, { message, hint });
}

/**
 * The login's word where PAM's hook could not hand anything over.
 *
 * @param cluster The only one of the site where absent.
 */
export function podAccessMissing(place: Place, uid: number, cluster?: string): BerthError {
  const refused = namesIn(accessFolder(place, uid)).filter((name) => name.endsWith('.refused'));
  const name = cluster === undefined ? refused[0] : `${encodeURIComponent(cluster)}.refused`;
  const { message, hint } = readRefusal(`${accessFolder(place, uid)}/${name ?? ''}`);
  const where = cluster === undefined ? '' : ` on the cluster ${cluster}`;
  return new BerthError(
    `there is no way to your pods${where} at the moment${message === undefined ? '' : `: ${message}`}`,
    {
      code: 'pod-access-missing',
      exit: 'temporary',
      hint:
        hint ??
        'hooks/pam-session asks the cluster for it at each login: see its line in syslog, and `berth doctor`.',
      ...(cluster === undefined ? {} : { fields: { cluster } }),
    },
  );
}

function readRefusal(path: string): { readonly message?: string; readonly hint?: string } {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as { message: string; hint: string };
  } catch {
    // The login says what it can.
    return {};
  }
}
