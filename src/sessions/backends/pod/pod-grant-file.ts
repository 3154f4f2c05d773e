import { rmSync, statSync, utimesSync } from 'node:fs';
import { expectBerthError } from '../../../system/errors/berth-error.ts';
import type { ApiServer } from '../../../kube/api-server.ts';
import { directoryNames, textIfPresent } from '../../../system/if-present.ts';
import { readPrivateFile, writePrivateFile } from '../../../system/private-file.ts';
import { ensureRootDirectory } from '../../../system/safe-directories.ts';
import type { SessionContext } from '../../connections/state-paths.ts';
import { parsedJson } from '../../../system/text/parsed-json.ts';

/**
 * What a user's sessions need to reach their pods on one cluster. PAM's hook creates it, stores it, and hands it over to the
 * login (`pod-handover.ts`). The token is of the user's ServiceAccount and becomes invalid when the user's last connection
 * has ended.
 */
export interface PodGrant {
  /** OnDemand's name of the cluster. */
  readonly cluster: string;
  readonly namespace: string;
  /** Includes the token. */
  readonly server: ApiServer;
  /** When the token expires, in seconds since the epoch. */
  readonly expiry: number;
}

type Place = Pick<SessionContext, 'run'>;

function grantDirectory({ run }: Place, uid: number): string {
  return `${run}/pods/${uid}`;
}

function grantFile(place: Place, uid: number, cluster: string): string {
  return `${grantDirectory(place, uid)}/${encodeURIComponent(cluster)}.json`;
}

/** Writes root's copy, which the user cannot read. @throws {BerthError} `directory-unsafe`; system errors */
export function writePodGrant(place: Place, uid: number, grant: PodGrant): void {
  ensureRootDirectory(grantDirectory(place, uid));
  writePrivateFile(grantFile(place, uid, grant.cluster), JSON.stringify(grant));
}

/** The file contains a token and a few certificates. Bytes. */
export const maxGrantBytes = 256 * 1024;

/** @returns undefined if there is none, or it is not owned by root */
export function readPodGrant(place: Place, uid: number, cluster: string): PodGrant | undefined {
  try {
    return parsePodGrant(readPrivateFile(grantFile(place, uid, cluster), 0, maxGrantBytes));
  } catch (error) {
    expectBerthError(error);
    return undefined;
  }
}

/** Parses a grant. @returns undefined if the text is not one */
export function parsePodGrant(text: string | undefined): PodGrant | undefined {
  const grant = parsedJson(text ?? '') as Partial<PodGrant> | null;
  return isGrant(grant) ? grant : undefined;
}

function isGrant(grant: Partial<PodGrant> | null): grant is PodGrant {
  return (
    typeof grant?.server?.url === 'string' &&
    typeof grant.server.token === 'string' &&
    typeof grant.namespace === 'string' &&
    typeof grant.cluster === 'string' &&
    typeof grant.expiry === 'number'
  );
}

/** The user's grants on all clusters. */
export function storedPodGrants(place: Place, uid: number): PodGrant[] {
  return directoryNames(grantDirectory(place, uid))
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => readPodGrant(place, uid, decodeURIComponent(name.slice(0, -5))) ?? []);
}

export function podGrantClusters(place: Place, uid: number): string[] {
  return directoryNames(grantDirectory(place, uid))
    .filter((name) => name.endsWith('.json'))
    .map((name) => decodeURIComponent(name.slice(0, -5)));
}

/** Whether the user has a grant, valid or not. */
export function hasPodGrants(place: Place, uid: number): boolean {
  return podGrantClusters(place, uid).length > 0;
}

export function removePodGrant(place: Place, uid: number, cluster: string): void {
  rmSync(grantFile(place, uid, cluster), { force: true });
}

/**
 * Makes the next login request a new grant. This one still works, until its token has expired or is revoked.
 */
export function expirePodGrant(place: Place, uid: number, cluster: string): void {
  const grant = readPodGrant(place, uid, cluster);
  if (grant !== undefined) writePodGrant(place, uid, { ...grant, expiry: 0 });
}

/** When the grant was written or renewed, in milliseconds since the epoch; undefined if there is none. */
export function podGrantWritten(place: Place, uid: number, cluster: string): number | undefined {
  return statSync(grantFile(place, uid, cluster), { throwIfNoEntry: false })?.mtimeMs;
}

/** Records that the grant was renewed. @param now milliseconds since the epoch */
export function touchPodGrant(place: Place, uid: number, cluster: string, now: number): void {
  utimesSync(grantFile(place, uid, cluster), now / 1000, now / 1000);
}

/** Pods that remain after the user's last connection. Times in milliseconds since the epoch. */
export interface RemainingPods {
  readonly since: number;
  /** When they have to be checked next. */
  readonly due: number;
}

export function readRemainingPods(place: Place, uid: number): RemainingPods | undefined {
  const [since = 0, due = 0] = textIfPresent(waitingFile(place, uid)).split(' ').map(Number);
  return since > 0 ? { since, due } : undefined;
}

/** @param waiting undefined if no pod remains */
export function writeRemainingPods(
  place: Place,
  uid: number,
  waiting: RemainingPods | undefined,
): void {
  if (waiting === undefined) rmSync(waitingFile(place, uid), { force: true });
  else writePrivateFile(waitingFile(place, uid), `${waiting.since} ${waiting.due}\n`);
}

function waitingFile(place: Place, uid: number): string {
  return `${grantDirectory(place, uid)}/waiting`;
}
