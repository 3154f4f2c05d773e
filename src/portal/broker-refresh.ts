import type { ClusterSettings, OidcSettings } from '../config/settings.ts';
import { isFresh } from '../credentials/credential-cache.ts';
import { obtainByOwnRefresh, obtainByRefresh } from '../credentials/oidc/obtain-token.ts';
import { restartWebServer } from '../credentials/oidc/portal-advice.ts';
import { newestHeir, siblings } from '../credentials/refresh-token-lineage.ts';
import { renewOnce } from '../credentials/renew-once.ts';
import {
  forgetFormer,
  readStored,
  type StoredCredential,
  storeLock,
  storePath,
} from '../credentials/root-store.ts';
import type { Issuer } from '../credentials/oidc/issuer.ts';
import { BerthError } from '../errors.ts';
import { writeAtomically } from '../system/atomic-file.ts';
import type { HttpsClient } from '../system/https-request.ts';
import type { MintToken } from '../credentials/credential-files.ts';

export interface RefreshDeps {
  readonly stateDir: string;
  /** The site's configuration: read only when a token has come to its end. */
  readonly clusters: () => Promise<readonly ClusterSettings[]>;
  readonly https: HttpsClient;
  readonly issuer: (settings: OidcSettings) => Promise<Issuer>;
  readonly readCa: (caFile: string) => string;
  readonly mintToken?: MintToken;
  /** The name that a UID has now (`nameOfUid`). */
  readonly nameOf: (uid: number) => Promise<string | undefined>;
  /** Seconds since the epoch. */
  readonly now: () => number;
}

/** Refresh and exchange are two requests; together they stay below what a lock's owner is given. */
const timeoutMs = 6_000;

/**
 * What the broker does for a user: a token for a cluster, fresh from the store or from the issuer.
 * The client's secret and the refresh token stay here.
 *
 * A UID may have been given to another person since the login: then there is nothing of the former one.
 *
 * @param uid Who asks; known by the kernel, never from the request.
 * @throws {BerthError} `credential-missing`, `user-unknown`, `cluster-unknown`, and what `nameOf`,
 *   `renewOnce`, `obtainByRefresh` and `readStored` throw.
 */
export async function refreshForUser(
  uid: number,
  clusterName: string,
  deps: RefreshDeps,
): Promise<{ readonly token: string; readonly expiry: number }> {
  const path = storePath(deps.stateDir, uid, clusterName);
  const name = await deps.nameOf(uid);
  if (name === undefined) throw unknown(uid);
  await forgetFormer(deps.stateDir, uid, name);
  const stored = readStored(path);
  if (stored?.username !== name) throw missing(clusterName);
  const now = deps.now();
  if (isFresh(stored, now)) return { token: stored.token, expiry: stored.expiry };

  const cluster = (await deps.clusters()).find(({ name }) => name === clusterName);
  if (cluster === undefined) {
    throw new BerthError(`the cluster ${clusterName} is no longer configured`, {
      code: 'cluster-unknown',
      exit: 'config',
      hint: 'Look at OnDemand’s clusters.d on the portal’s host.',
    });
  }
  const { token, expiry } = await renewOnce(
    {
      path,
      lock: storeLock(path, stored),
      now: deps.now,
      read: () => readStored(path),
      isFresh: (credential) => isFresh(credential, deps.now()),
      renew: (current) => renew(current, { cluster, uid, path }, deps),
    },
    stored,
  );
  return { token, expiry };
}

interface Subject {
  readonly cluster: ClusterSettings;
  readonly uid: number;
  readonly path: string;
}

async function renew(
  current: StoredCredential,
  { cluster, uid, path }: Subject,
  deps: RefreshDeps,
): Promise<StoredCredential> {
  const settings = cluster.credentials;
  if (settings.mode === 'service-account' && deps.mintToken !== undefined) {
    return { ...current, ...(await deps.mintToken(cluster, { name: current.username, uid })) };
  }
  const { origin } = current;
  const heirs = [current, ...(await siblings(path)).map((sibling) => readStored(sibling) ?? {})];
  const heir = origin === undefined ? undefined : newestHeir(origin, heirs);
  if (settings.mode !== 'oidc' || heir === undefined) throw missing(cluster.name);

  const turn = (heir.turn ?? 0) + 1;
  const context = {
    settings,
    username: current.username,
    issuer: await deps.issuer(settings),
    https: deps.https,
    now: deps.now,
    timeoutMs,
    ...(settings.caFile !== undefined && { ca: deps.readCa(settings.caFile) }),
  };
  const obtain = current.own === true ? obtainByOwnRefresh : obtainByRefresh;
  const renewed = await obtain(context, heir.refreshToken, (refreshToken) =>
    writeAtomically(path, JSON.stringify({ ...current, refreshToken, turn }), { mode: 0o600 }),
  );
  return {
    ...current,
    token: renewed.token,
    expiry: renewed.claims.expiry,
    refreshToken: renewed.refreshToken,
    turn,
  };
}

function unknown(uid: number): BerthError {
  return new BerthError(`there is no account with UID ${uid}`, {
    code: 'user-unknown',
    exit: 'temporary',
    hint: `Run getent passwd ${uid}. If it prints nothing, the account was deleted, or sssd or LDAP is down.`,
  });
}

function missing(cluster: string): BerthError {
  return new BerthError(`there is no login of this user for the cluster ${cluster}`, {
    code: 'credential-missing',
    exit: 'permission',
    hint: `${restartWebServer}: that makes one.`,
  });
}
