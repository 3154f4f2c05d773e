import type { LdapSettings } from '../config/ldap-settings.ts';
import { asBerthError, type BerthError } from '../errors.ts';
import { ldapNobody } from './ldap-errors.ts';
import { readDirectory } from './read-directory.ts';
import { type LdapUsers, ldapUsersOf } from './rules/ldap-users.ts';
import type { Deadline } from '../system/deadline.ts';
import { beforeDeadline } from '../clusters/for-each-cluster.ts';
import type { ClusterTarget } from '../clusters/cluster-target.ts';
import type { LdapSecrets } from '../settings/load-ldap-settings.ts';
import { syncCluster, type SyncedCluster, type SyncOptions } from './sync-cluster.ts';

export interface LdapSyncInput extends Pick<SyncOptions, 'dryRun' | 'acceptFewer' | 'now'> {
  readonly ldap: LdapSettings;
  readonly secrets: LdapSecrets;
  readonly minimumUid: number;
  readonly targets: readonly ClusterTarget[];
  readonly deadline: Deadline;
  /** Called with a description of the current step. */
  readonly onProgress?: (what: string) => void;
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
  const { ldap, secrets, deadline, onProgress = () => undefined } = input;
  const answers = await beforeDeadline(
    readDirectory(ldap, {
      ...secrets,
      timeoutMs: ldap.timeoutMs,
      onProgress: (what, count) => onProgress(`reading the directory: ${count} ${what}`),
    }),
    deadline,
  );
  const people = ldapUsersOf(answers, { ...ldap, minimumUid: input.minimumUid });
  if (people.users.size === 0) throw ldapNobody('users', ldap.users.bases, ldap.users.filter);
  if (people.groups === 0) throw ldapNobody('groups', ldap.groups.bases, ldap.groups.filter);
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
  return { url: answers.url, people, clusters };
}
