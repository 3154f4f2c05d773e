import type { UsableCluster } from './usable-cluster.ts';
import { pathOf } from './cluster-names.ts';

/** A cluster of the site's configuration and the audience of the tokens that its API servers take. */
export interface KnownAudience {
  readonly name: string;
  readonly audience: string;
  /** The Cluster that it was made from; undefined for one that an admin wrote. */
  readonly from?: { readonly namespace: string; readonly name: string };
}

/**
 * Clusters with an audience of another cluster: a tenant chooses it in the control plane, and the tokens that users send to
 * the tenant's API servers would then be valid on the other cluster. A Cluster that has an audience keeps it, and Clusters of one
 * namespace, which is one tenant's, may share one.
 *
 * @param allowed audiences that clusters may share
 * @returns why such a cluster cannot be used
 */
export function sharedAudiences(
  found: readonly UsableCluster[],
  known: readonly KnownAudience[],
  allowed: readonly string[],
): ReadonlyMap<UsableCluster, string> {
  const problems = new Map<UsableCluster, string>();
  for (const one of found) {
    const audience = one.oidc?.audience;
    if (audience === undefined || allowed.includes(audience)) continue;
    const path = pathOf(one.cluster);
    const holders = known.filter((other) => other.audience === audience);
    const holder = holders.find(({ from }) => from?.namespace !== one.cluster.namespace);
    const isHolder = holders.some(({ from }) => from !== undefined && pathOf(from) === path);
    const newcomer = found.find(
      (other) =>
        other.oidc?.audience === audience && other.cluster.namespace !== one.cluster.namespace,
    );
    const other =
      holder?.name ?? (isHolder || newcomer === undefined ? undefined : pathOf(newcomer.cluster));
    if (other !== undefined)
      problems.set(
        one,
        `its API servers take tokens with the audience ${audience}, which is that of ${other}: its owner could use them there; to allow it: --audience ${audience}`,
      );
  }
  return problems;
}
