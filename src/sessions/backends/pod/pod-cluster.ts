import type { Profile, SshSettings } from '../../../config/schema/profile/profile.ts';
import type { ClusterSettings } from '../../../config/schema/settings.ts';
import type { LoadedSiteSettings } from '../../../config/schema/site-file-contents.ts';
import { BerthError } from '../../../system/errors/berth-error.ts';

/** The profiles whose sessions may be pods, because the profile or a rule says so. */
export function podProfiles({
  profiles,
  rules,
}: Pick<SshSettings, 'profiles' | 'rules'>): Profile[] {
  const ruled = new Set(
    rules.flatMap(({ backend, profile }) => (backend === 'pod' ? profile : [])),
  );
  return [...profiles.values()].filter(({ backend, name }) => backend === 'pod' || ruled.has(name));
}

/**
 * The cluster of a profile's pods: the named one, or the only one that accepts SSH sessions.
 *
 * @throws {BerthError} `pod-cluster-unknown`, exit 78; if the configuration of a cluster that it may be is broken, its error
 */
export function podCluster(
  { name, pod }: Profile,
  { settings: { clusters }, broken }: LoadedSiteSettings,
): ClusterSettings & Required<Pick<ClusterSettings, 'sshSessions'>> {
  const open = clusters.filter(isOpen);
  const found =
    pod.cluster === undefined ? open : open.filter((cluster) => cluster.name === pod.cluster);
  const [cluster] = found;
  if (cluster !== undefined && found.length === 1) return cluster;
  const fault = broken.find(
    (one) => found.length === 0 && one.cluster === (pod.cluster ?? one.cluster),
  );
  if (fault !== undefined) throw fault.error;
  const named = pod.cluster === undefined ? '' : ` ${pod.cluster}`;
  throw new BerthError(
    'pod-cluster-unknown',
    found.length > 1
      ? `profile ${name} has no pod.cluster, and ${open.length} clusters allow SSH sessions`
      : `profile ${name}: no cluster${named} allows SSH sessions`,
    { fields: { profile: name } },
  );
}

function isOpen(
  cluster: ClusterSettings,
): cluster is ClusterSettings & Required<Pick<ClusterSettings, 'sshSessions'>> {
  return cluster.sshSessions !== undefined;
}
