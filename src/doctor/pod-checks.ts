import type { LoadedSiteSettings } from '../config/schema/site-files.ts';
import type { Profile, SshSettings } from '../config/schema/profile/profile.ts';
import { hookAccess } from '../clusters/hook-access.ts';
import type { ClusterSettings } from '../config/schema/settings.ts';
import type { User } from '../identity/user.ts';
import { podCluster, podProfiles } from '../backends/pod/pod-cluster.ts';
import { type CheckResult, failed, type Finding, ok, runCheck, skipped } from '../check-result.ts';
import { withClient } from './cluster-checks.ts';
import { podAdmissionFinding } from './pod-admission-check.ts';
import { installedPath } from '../installed-path.ts';

/**
 * Whether a cluster accepts sessions for each profile with pods, and their pods. Whether the hook has the rights there is
 * checked with the cluster.
 *
 * @param loaded undefined if the configuration of the clusters is missing or cannot be read
 * @param user whose home the pods would mount
 */
export async function checkPods(
  settings: SshSettings,
  loaded: LoadedSiteSettings | undefined,
  timeoutMs: number,
  user?: User,
): Promise<CheckResult[]> {
  const results = await Promise.all(
    podProfiles(settings).map(async (profile) => {
      let cluster: ClusterSettings | undefined;
      const run = () => {
        if (loaded === undefined)
          return failed(
            `profile ${profile.name}: its sessions are pods, but the clusters are not known`,
            `Run \`berth init login-node --backend pod\`, or write clusters.d and berth.yml: ${installedPath('share/docs/ssh-pods.md')}.`,
          );
        cluster = podCluster(profile, loaded);
        return ok(`profile ${profile.name}: its sessions are pods on ${cluster.name}`);
      };
      const result = await runCheck({ id: 'ssh-pods', run }, timeoutMs);
      if (cluster === undefined || loaded === undefined) return [result];
      const admits = admissionOf(profile, cluster, loaded.settings, user);
      return [result, await runCheck({ id: 'ssh-pod-admission', run: admits }, timeoutMs)];
    }),
  );
  return results.flat();
}

function admissionOf(
  profile: Profile,
  cluster: ClusterSettings,
  { stateDir, clusters }: LoadedSiteSettings['settings'],
  user: User | undefined,
) {
  return async (deadline: AbortSignal): Promise<Finding> => {
    const deps = { stateDir, clusterCount: clusters.length, remember: false, deadline };
    const server = await hookAccess(cluster, deps).catch(() => undefined);
    // The checks of the cluster say why.
    if (server === undefined)
      return skipped(`profile ${profile.name}: there are no credentials for ${cluster.name}`);
    return withClient(server, deadline, (client) => podAdmissionFinding(client, profile, user));
  };
}
