import type { ClusterTarget } from '../access/cluster-target.ts';
import { type DirectoryInput, readPeople } from '../../directory/read-people.ts';
import type { LdapUsers } from '../../directory/rules/ldap-users.ts';
import { asBerthError, type BerthError } from '../../system/errors/berth-error.ts';
import { syncCluster, type SyncedCluster, type SyncOptions } from './sync-cluster.ts';

export interface LdapSyncInput
  extends DirectoryInput, Pick<SyncOptions, 'dryRun' | 'acceptFewer' | 'now'> {
  readonly targets: readonly ClusterTarget[];
}

export interface LdapSyncReport {
  /** The server that answered. */
  readonly url: string;
  readonly people: LdapUsers;
  readonly clusters: readonly ClusterSyncResult[];
}

/** The result for one cluster; a failure does not affect the others. */
export type ClusterSyncResult = { readonly cluster: string } & (
  { readonly synced: SyncedCluster } | { readonly error: BerthError }
);

/**
 * Reads the whole directory, then writes UID, GID and groups to the namespaces of the users, on all
 * clusters in parallel.
 *
 * @throws BerthError `ldap-…` if the directory could not be read completely
 */
export async function syncFromLdap(input: LdapSyncInput): Promise<LdapSyncReport> {
  const { deadline, onProgress = () => undefined } = input;
  const { url, people } = await readPeople({ ...input, onProgress });
  const clusters = await Promise.all(
    input.targets.map(async (target): Promise<ClusterSyncResult> => {
      const cluster = target.name;
      try {
        const synced = await syncCluster(target, people, {
          ...input,
          deadline: deadline.signal,
          onProgress: (done, of) => onProgress(`${cluster}: ${done} of ${of} namespaces`),
        });
        return { cluster, synced };
      } catch (thrown) {
        return { cluster, error: asBerthError(thrown, `cluster ${cluster}`) };
      }
    }),
  );
  return { url, people, clusters };
}
