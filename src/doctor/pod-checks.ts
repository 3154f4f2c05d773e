import type { LoadedSiteSettings } from '../config/site-files.ts';
import type { SshSettings } from '../config/profile/profile.ts';
import { podCluster, podProfiles } from '../ssh/pod/pod-cluster.ts';
import { type CheckResult, failed, ok, runCheck } from '../check-result.ts';
import { installedPath } from '../installed-path.ts';

/**
 * Whether a cluster accepts sessions for each profile with pods. Whether the hook has the rights there is
 * checked with the cluster.
 *
 * @param loaded undefined if the configuration of the clusters is missing or cannot be read
 */
export async function checkPods(
  settings: SshSettings,
  loaded: LoadedSiteSettings | undefined,
  timeoutMs: number,
): Promise<CheckResult[]> {
  return Promise.all(
    podProfiles(settings).map((profile) => {
      const run = () => {
        if (loaded === undefined)
          return failed(
            `profile ${profile.name}: its sessions are pods, but the clusters are not known`,
            `Run \`berth init login-node --backend pod\`, or write clusters.d and berth.yml: ${installedPath('share/docs/ssh-pods.md')}.`,
          );
        const { name } = podCluster(profile, loaded);
        return ok(`profile ${profile.name}: its sessions are pods on ${name}`);
      };
      return runCheck({ id: 'ssh-pods', run }, timeoutMs);
    }),
  );
}
