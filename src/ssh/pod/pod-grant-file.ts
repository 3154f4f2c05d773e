import { readFileSync, rmSync } from 'node:fs';
import { BerthError, isErrno } from '../../errors.ts';
import type { ApiServer } from '../../reconcile/api-server.ts';
import { namesIn } from '../../system/names-in.ts';
import { readPrivateFile, writePrivateFile } from '../../system/private-file.ts';
import { ensureRootFolder } from '../../system/root-folders.ts';
import type { SessionSite } from '../connections/state-paths.ts';

/**
 * What a user's sessions need to reach their pods on one cluster. PAM's hook creates it, stores it, and hands it over to the
 * login (`pod-handover.ts`). The token is of the user's ServiceAccount and becomes invalid when the user's last connection
 * has ended.
 */
export interface PodAccess {
  /** OnDemand's name of the cluster. */
  readonly cluster: string;
  readonly namespace: string;
  /** Includes the token. */
  readonly server: ApiServer;
  /** When the token expires, in seconds since the epoch. */
  readonly expiry: number;
}

type Place = Pick<SessionSite, 'run'>;

function accessFolder({ run }: Place, uid: number): string {
  return `${run}/pods/${uid}`;
}

function accessFile(place: Place, uid: number, cluster: string): string {
  return `${accessFolder(place, uid)}/${encodeURIComponent(cluster)}.json`;
}

/** Writes root's copy, which the user cannot read. @throws {BerthError} `directory-unsafe`; system errors */
export function writePodAccess(place: Place, uid: number, access: PodAccess): void {
  ensureRootFolder(accessFolder(place, uid));
  writePrivateFile(accessFile(place, uid, access.cluster), JSON.stringify(access));
}

/** The file contains a token and a few certificates. Bytes. */
export const longestAccess = 256 * 1024;

/** @returns undefined if there is none, or it is not owned by root */
export function readPodAccess(place: Place, uid: number, cluster: string): PodAccess | undefined {
  try {
    return podAccessIn(readPrivateFile(accessFile(place, uid, cluster), 0, longestAccess));
  } catch (error) {
    if (error instanceof BerthError) return undefined;
    throw error;
  }
}

/** Parses a grant. @returns undefined if the text is not one */
export function podAccessIn(text: string | undefined): PodAccess | undefined {
  try {
    const access = JSON.parse(text ?? '') as Partial<PodAccess> | null;
    return isAccess(access) ? access : undefined;
  } catch {
    return undefined;
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

/** The user's grants on all clusters. */
export function heldPodAccesses(place: Place, uid: number): PodAccess[] {
  return namesIn(accessFolder(place, uid))
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => readPodAccess(place, uid, decodeURIComponent(name.slice(0, -5))) ?? []);
}

export function podAccessClusters(place: Place, uid: number): string[] {
  return namesIn(accessFolder(place, uid))
    .filter((name) => name.endsWith('.json'))
    .map((name) => decodeURIComponent(name.slice(0, -5)));
}

/** Whether the user has a grant, valid or not. */
export function holdsPods(place: Place, uid: number): boolean {
  return podAccessClusters(place, uid).length > 0;
}

export function removePodAccess(place: Place, uid: number, cluster: string): void {
  rmSync(accessFile(place, uid, cluster), { force: true });
}

/** Pods that remain after the user's last connection. Times in milliseconds since the epoch. */
export interface PodsWaiting {
  readonly since: number;
  /** When they have to be checked next. */
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

/** @param waiting undefined if no pod remains */
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
