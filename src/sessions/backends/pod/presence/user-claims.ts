import { hookAccess } from '../../../../clusters/access/hook-access.ts';
import { asBerthError, type BerthError } from '../../../../system/errors/berth-error.ts';
import type { User } from '../../../../system/identity/nss.ts';
import { apiClient, type ApiClient, withApiClient } from '../../../../kube/api-client.ts';
import { deadlineIn } from '../../../../system/deadline.ts';
import { claimPlace, type PodGrantContext, sessionClusters } from '../grant-pod-access.ts';
import {
  removeExpiredClaims,
  readClaims,
  writeClaim,
  type ClaimPlace,
  type NamespaceClaims,
} from './node-claims.ts';
import { renewClaimMs, sharedUntil } from '../objects/node-claim.ts';
import {
  expirePodGrant,
  podGrantClusters,
  podGrantWritten,
  touchPodGrant,
} from '../pod-grant-file.ts';

/** How the pods that all login nodes share are in use. Milliseconds since the epoch. */
export interface SharedUse {
  /** Since when the user has no connection to any node; undefined while there is one. */
  readonly since: number | undefined;
  /** If other nodes have connections: when their claims expire unless they renew them. */
  readonly until: number | undefined;
  /** The other nodes with a claim, by `hostLabel`; undefined while this node has connections, because they are not read. */
  readonly nodes: ReadonlySet<string> | undefined;
}

/** The claims of login nodes on one user's pods on one cluster, during a cleanup on this node. */
export class UserClaims {
  readonly #client: ApiClient;
  readonly #place: ClaimPlace;
  readonly #now: () => number;
  readonly #beforeClosing: () => void;
  #last: NamespaceClaims | undefined;
  #announced = -Infinity;

  private constructor(
    client: ApiClient,
    place: ClaimPlace,
    { now, beforeClosing }: { readonly now: () => number; readonly beforeClosing: () => void },
  ) {
    this.#client = client;
    this.#place = place;
    this.#now = now;
    this.#beforeClosing = beforeClosing;
  }

  /** @returns undefined if the cluster is no longer configured. @throws the errors of `hookAccess` */
  static async open(
    site: PodGrantContext,
    user: User,
    name: string,
    signal: AbortSignal,
  ): Promise<UserClaims | undefined> {
    const { clusters, deps } = await sessionClusters(site, user);
    const cluster = clusters.find((one) => one.name === name);
    if (cluster === undefined) return undefined;
    const client = apiClient(await hookAccess(cluster, deps), signal);
    // A login that comes meanwhile writes the claim again, together with a new grant.
    const beforeClosing = (): void => expirePodGrant(site, user.uid, name);
    return new UserClaims(client, claimPlace(cluster, user), { now: site.now, beforeClosing });
  }

  /**
   * Announces that this node has no connection of the user, and is about to delete what all nodes share. A login on
   * another node then waits until that is done; one that came before is seen.
   *
   * @param since since when this node has no connection, in milliseconds since the epoch
   * @throws {BerthError} the `api-…` errors
   */
  async announceClosing(since: number): Promise<SharedUse> {
    this.#beforeClosing();
    const now = this.#now();
    const claims = await writeClaim(this.#client, this.#place, 'closing', now);
    this.#announced = performance.now();
    if (claims !== undefined) await removeExpiredClaims(this.#client, this.#place, claims, now);
    const until = claims && sharedUntil(claims, now);
    const nodes = new Set(claims?.valid.keys());
    if (until !== undefined) return { since: undefined, until, nodes };
    return { since: Math.max(since, Math.min(claims?.lastClosed ?? 0, now)), until, nodes };
  }

  /** Whether there is still no connection to another node, right before a shared pod is deleted. @throws as `announceClosing` */
  async isClosingStill(): Promise<boolean> {
    if (performance.now() - this.#announced < announcedMs) return true;
    return (await this.announceClosing(0)).until === undefined;
  }

  /**
   * Whether nodes have a claim, by `hostLabel`. They are read again for a name that had none: a login on another node
   * writes the claim before its first process starts in a pod.
   *
   * @throws {BerthError} the `api-…` errors
   */
  async claiming(hosts: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const isKnown = (host: string): boolean => this.#last?.valid.has(host) === true;
    if (![...hosts].every(isKnown))
      this.#last = await readClaims(this.#client, this.#place, this.#now());
    return new Set([...hosts].filter(isKnown));
  }

  close(): void {
    this.#client.close();
  }
}

/** Less than a login on another node waits for the deletion. Milliseconds. */
const announcedMs = 2_000;

/** Names of the clusters on which this node's claim has to be renewed. */
export function claimsToRenew(site: PodGrantContext, { uid }: User): string[] {
  const now = site.now();
  return podGrantClusters(site, uid).filter(
    (name) => (podGrantWritten(site, uid, name) ?? now) + renewClaimMs <= now,
  );
}

/** Time limit for one cluster: a login waits meanwhile. Milliseconds. */
const renewalMs = 2_000;

/**
 * Renews this node's claims while the user has connections.
 *
 * @param names `claimsToRenew`
 * @returns the errors; the next run tries again
 */
export async function renewClaims(
  site: PodGrantContext,
  user: User,
  names: readonly string[],
): Promise<readonly BerthError[]> {
  const now = site.now();
  const failed: BerthError[] = [];
  const { clusters, deps } = await sessionClusters(site, user);
  for (const cluster of clusters.filter(({ name }) => names.includes(name))) {
    try {
      const server = await hookAccess(cluster, deps);
      await withApiClient(server, deadlineIn(renewalMs).signal, (client) =>
        writeClaim(client, claimPlace(cluster, user), 'open', now),
      );
      touchPodGrant(site, user.uid, cluster.name, now);
    } catch (thrown) {
      failed.push(asBerthError(thrown, `the pods of ${user.name} on ${cluster.name}`));
    }
  }
  return failed;
}
