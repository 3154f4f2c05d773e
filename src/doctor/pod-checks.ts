import type { LoadedSettings } from '../config/site-parts.ts';
import type { SshSettings } from '../config/profile/profile.ts';
import { podCluster, podProfiles } from '../ssh/pod/pod-cluster.ts';
import { type CheckResult, failed, ok, runCheck } from '../finding.ts';
import { installedPath } from '../installed-path.ts';

/**
 * Whether each profile whose sessions may be pods leads to a cluster that takes them; nothing where there is
 * none. What the cluster itself says of it is among the checks of the cluster.
 *
 * @param loaded Nothing where the configuration of the clusters is not there, or cannot be read.
 */
export async function checkPods(
  settings: SshSettings,
  loaded: LoadedSettings | undefined,
  timeoutMs: number,
): Promise<CheckResult[]> {
  return Promise.all(
    podProfiles(settings).map((profile) => {
      const run = () => {
        if (loaded === undefined)
          return failed(
            `profile ${profile.name}: its sessions are pods, and which clusters there are is not known`,
            `A login node for pods has clusters.d and berth.yml as the portal's host: ${installedPath('share/docs/ssh-pods.md')}.`,
          );
        const { name } = podCluster(profile, loaded.settings.clusters);
        return ok(`profile ${profile.name}: its sessions are pods on ${name}`);
      };
      return runCheck({ id: 'ssh-pods', run }, timeoutMs);
    }),
  );
}
