import { truncate } from 'node:fs/promises';
import { BerthError, expectBerthError } from '../../../system/errors/berth-error.ts';
import type { User } from '../../../system/identity/nss.ts';
import { writeAtomically } from '../../../system/atomic-file.ts';
import { ifExists } from '../../../system/if-present.ts';
import {
  ifUsable,
  inDirectoryOnMount,
  namesOnMount,
  readOnMount,
} from '../../../system/user-file.ts';
import { asUserThenRoot } from '../../../system/as-user.ts';
import { maxGrantBytes, parsePodGrant, type PodGrant } from './pod-grant-file.ts';
import { findRuntimeDir } from '../../connections/runtime-dir.ts';
import { handoverLockPath, type SessionContext } from '../../connections/state-paths.ts';
import { withUserLock } from '../../connections/user-lock.ts';
import { forwardSocketDirs } from '../../forwarding/forwarding-directories.ts';
import { parsedJson } from '../../../system/text/parsed-json.ts';

/**
 * The directory for what root hands over to a user's logins, in the user's runtime directory: there it counts against the
 * user's quota. The user may change it. Root only checks whether it is unchanged.
 */
const directory = 'berth-pods';

function grantFile(cluster: string): string {
  return `${encodeURIComponent(cluster)}.json`;
}

function refusalFile(cluster: string): string {
  return `${encodeURIComponent(cluster)}.refused`;
}

type Site = Pick<SessionContext, 'run'>;

/**
 * Hands a grant over, as root.
 *
 * @throws {BerthError} `runtime-directory-missing`, `lock-timeout`, the errors of `writeAtomically`
 */
export async function handOverGrant(site: Site, user: User, grant: PodGrant): Promise<void> {
  await give(site, user, grantFile(grant.cluster), grant);
}

/** Hands over why there is no grant, so that the login can report it. @throws as `handOverGrant` */
export async function handOverError(
  site: Site,
  user: User,
  cluster: string,
  { message, hint }: BerthError,
): Promise<void> {
  await give(site, user, refusalFile(cluster), { message, hint });
}

async function give(site: Site, user: User, file: string, content: object): Promise<void> {
  const runtimeDir = findRuntimeDir(user);
  if (runtimeDir === undefined)
    throw new BerthError(
      'runtime-directory-missing',
      `${user.name} has no runtime directory, so the token for pods cannot be stored for the login`,
    );
  await inTurnAsUser(site, user, async () => {
    const { local, remote } = forwardSocketDirs('');
    for (const sockets of [local, remote])
      await inDirectoryOnMount(runtimeDir, sockets.slice(1).split('/'), () => Promise.resolve());
    await inDirectoryOnMount(runtimeDir, [directory], (path) =>
      writeAtomically(`${path}/${file}`, JSON.stringify(content), {
        mode: 0o600,
        replaceable: true,
        shownAs: `${runtimeDir}/${directory}/${file}`,
      }),
    );
  });
}

/** How long a login waits for another one of the user. Milliseconds. */
const timeoutMs = 2_000;

/** One process of root's at a time is in the user's directory, where the user may keep it for ever. */
async function inTurnAsUser<T>(site: Site, user: User, work: () => Promise<T>): Promise<T> {
  const lock = handoverLockPath(site, user.uid);
  return await withUserLock(site, lock, timeoutMs, () => asUserThenRoot(user, work));
}

/**
 * Whether the user still has the grant as it was handed over. The login truncates one that the cluster refuses.
 *
 * @throws {BerthError} `lock-timeout`
 */
export async function isGrantUnchanged(site: Site, user: User, grant: PodGrant): Promise<boolean> {
  const runtimeDir = findRuntimeDir(user);
  if (runtimeDir === undefined) return false;
  const held = await inTurnAsUser(site, user, () =>
    Promise.resolve(readHandover(runtimeDir, user, grant.cluster)),
  );
  return JSON.stringify(held) === JSON.stringify(grant);
}

/**
 * Reads the user's grant, as the login.
 *
 * @param cluster any cluster if absent
 * @throws {BerthError} `pod-access-missing`
 */
export function receivedGrant(user: User, cluster?: string): PodGrant {
  const runtimeDir = findRuntimeDir(user);
  if (runtimeDir === undefined) throw missing(undefined, cluster);
  const names = handedOver(runtimeDir);
  const clusters = (end: string): string[] =>
    names.filter((name) => name.endsWith(end)).map((name) => name.slice(0, -end.length));
  for (const name of cluster === undefined ? clusters('.json') : [encodeURIComponent(cluster)]) {
    const grant = readHandover(runtimeDir, user, decodeURIComponent(name));
    if (grant !== undefined) return grant;
  }
  const refused = cluster ?? clusters('.refused').map(decodeURIComponent)[0];
  throw missing(refused && readText(runtimeDir, refusalFile(refused), user), cluster);
}

/**
 * All grants of the user, as the login.
 *
 * @returns also an error for each cluster that refused one, and if there is neither
 */
export function receivedGrants(user: User): {
  readonly grants: readonly PodGrant[];
  readonly failed: readonly BerthError[];
} {
  const runtimeDir = findRuntimeDir(user);
  const names = runtimeDir === undefined ? [] : handedOver(runtimeDir);
  const clusters = new Set(names.map((name) => decodeURIComponent(name.replace(/\.\w+$/, ''))));
  const [grants, failed]: [PodGrant[], BerthError[]] = [[], []];
  for (const cluster of clusters.size === 0 ? [undefined] : clusters) {
    try {
      grants.push(receivedGrant(user, cluster));
    } catch (error) {
      expectBerthError(error);
      failed.push(error);
    }
  }
  return { grants, failed };
}

/** A site has a few clusters, so this is never reached. */
const mostNames = 256;

function handedOver(runtimeDir: string): readonly string[] {
  return ifUsable(() => namesOnMount(runtimeDir, [directory], mostNames)) ?? [];
}

/**
 * Marks a grant as invalid, because the cluster does not accept its token. PAM's hook then creates a new one at the next
 * login, even if this one has not expired.
 */
export async function invalidateGrant(user: User, { cluster }: PodGrant): Promise<void> {
  const runtimeDir = findRuntimeDir(user);
  if (runtimeDir === undefined) return;
  // It may not exist: the user's last connection was closed meanwhile.
  await ifExists(truncate(`${runtimeDir}/${directory}/${grantFile(cluster)}`));
}

function readHandover(runtimeDir: string, user: User, cluster: string): PodGrant | undefined {
  return parsePodGrant(readText(runtimeDir, grantFile(cluster), user));
}

function readText(runtimeDir: string, file: string, { uid }: User): string | undefined {
  const demands = { uid, maximumBytes: maxGrantBytes };
  return ifUsable(() => readOnMount(runtimeDir, [directory, file], demands))?.toString('utf8');
}

/** @param refusal what PAM's hook handed over in place of a grant */
function missing(refusal: string | undefined, cluster: string | undefined): BerthError {
  const { message, hint } = (parsedJson(refusal ?? '') ?? {}) as Refusal;
  const where = cluster === undefined ? '' : ` on the cluster ${cluster}`;
  return new BerthError(
    'pod-access-missing',
    `your pods${where} cannot be reached at the moment${message === undefined ? '' : `: ${message}`}`,
    {
      hint,
      ...(cluster !== undefined && { fields: { cluster } }),
    },
  );
}

interface Refusal {
  readonly message?: string;
  readonly hint?: string;
}
