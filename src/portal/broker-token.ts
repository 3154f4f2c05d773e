import type { ClusterSettings } from '../config/schema/settings.ts';
import { isFresh } from '../credentials/credential-cache.ts';
import { obtainTokenByOwnRefresh, obtainTokenByRefresh } from '../credentials/oidc/obtain-token.ts';
import { newestDescendant, otherCredentialFiles } from '../credentials/refresh-token-lineage.ts';
import { renewUnderLock } from '../credentials/renew-under-lock.ts';
import {
  removeFormerOwners,
  readStoredCredential,
  type StoredCredential,
  storedCredentialLock,
  storedCredentialPath,
} from '../credentials/root-credential-store.ts';
import { obtainContext, type ProviderAccess } from '../credentials/renewable-token.ts';
import { BerthError } from '../system/errors/berth-error.ts';
import { escapeControl } from '../log.ts';
import { writeAtomically } from '../system/atomic-file.ts';
import type { MintToken } from '../credentials/cluster-credential.ts';

export interface BrokerDeps extends Omit<ProviderAccess, 'timeoutMs' | 'signal'> {
  readonly stateDir: string;
  /** The site's configuration: read only when a token has expired. */
  readonly clusters: () => Promise<readonly ClusterSettings[]>;
  readonly mintToken: MintToken;
  /** The account name of a UID now (`nameOfUid`). */
  readonly nameOf: (uid: number) => Promise<string | undefined>;
}

/** For each of at most two requests; both together take less than the 20 s that `renewUnderLock` allows. */
const timeoutMs = 6_000;

/**
 * The broker's answer to a user: a valid token for a cluster, from root's store or from the issuer. The
 * client secret and the refresh token stay in this process.
 *
 * If the UID has been given to another person since the hook ran, the stored credentials of the former
 * one are removed.
 *
 * @param uid of the client, from the kernel, never from the request
 * @throws {BerthError} `credential-missing`, `credential-of-other-issuer`, `user-unknown`, `cluster-unknown`, and what `nameOf`,
 *   `renewUnderLock`, `obtainTokenByRefresh` and `readStoredCredential` throw.
 */
export async function brokerToken(
  uid: number,
  clusterName: string,
  deps: BrokerDeps,
): Promise<BrokerToken> {
  const path = storedCredentialPath(deps.stateDir, uid, clusterName);
  const name = await deps.nameOf(uid);
  if (name === undefined)
    throw new BerthError('user-unknown', `there is no account with UID ${uid}`, {
      exit: 'temporary',
    });
  await removeFormerOwners(deps.stateDir, uid, name);
  const stored = readStoredCredential(path);
  if (stored?.username !== name) throw missing(clusterName);
  const now = deps.now();
  if (isFresh(stored, now)) return tokenOf(stored);

  const cluster = (await deps.clusters()).find(({ name }) => name === clusterName);
  if (cluster === undefined) {
    throw new BerthError('cluster-unknown', `the cluster ${clusterName} is no longer configured`, {
      exit: 'config',
    });
  }
  const renewed = await renewUnderLock(
    {
      path,
      lock: storedCredentialLock(path, stored),
      now: deps.now,
      read: () => readStoredCredential(path),
      isFresh: (credential) => isFresh(credential, deps.now()),
      renew: (current) => renew(current, { cluster, uid, path }, deps),
    },
    stored,
  );
  return tokenOf(renewed);
}

export interface BrokerToken {
  readonly token: string;
  /** Seconds since the epoch. */
  readonly expiry: number;
  /** ID of the login at the portal that the credential is from. */
  readonly session: string | undefined;
}

function tokenOf({ token, expiry, session }: StoredCredential): BrokerToken {
  return { token, expiry, session };
}

interface Subject {
  readonly cluster: ClusterSettings;
  readonly uid: number;
  readonly path: string;
}

async function renew(
  current: StoredCredential,
  { cluster, uid, path }: Subject,
  deps: BrokerDeps,
): Promise<StoredCredential> {
  const settings = cluster.credentials;
  if (settings.mode === 'service-account')
    return { ...current, ...(await deps.mintToken(cluster, { name: current.username, uid })) };
  const { origin } = current;
  const others = (await otherCredentialFiles(path)).map(
    (sibling) => readStoredCredential(sibling) ?? {},
  );
  const newest = origin === undefined ? undefined : newestDescendant(origin, [current, ...others]);
  if (settings.mode !== 'oidc' || newest === undefined) throw missing(cluster.name);
  // Whoever can change the cluster's issuer must not receive a refresh token of the former one.
  if (current.issuer !== settings.issuer)
    throw ofOtherIssuer(cluster.name, current.issuer, settings.issuer);

  const turn = (newest.turn ?? 0) + 1;
  const context = await obtainContext(settings, current.username, { ...deps, timeoutMs });
  const obtain = current.own === true ? obtainTokenByOwnRefresh : obtainTokenByRefresh;
  const { token, claims, refreshToken } = await obtain(context, newest.refreshToken, (next) =>
    writeAtomically(path, JSON.stringify({ ...current, refreshToken: next, turn }), {
      mode: 0o600,
    }),
  );
  return { ...current, token, expiry: claims.expiry, refreshToken, turn };
}

function ofOtherIssuer(cluster: string, was = 'an unknown issuer', is: string): BerthError {
  return new BerthError(
    'credential-of-other-issuer',
    `did not renew the credential for cluster ${cluster}: it was issued by ${escapeControl(was)}, and the cluster now uses ${is}`,
  );
}

function missing(cluster: string): BerthError {
  return new BerthError(
    'credential-missing',
    `there is no stored credential of this user for the cluster ${cluster}`,
  );
}
