import { isWithin } from '../config/profile/protected-folders.ts';
import type { SiteSettings } from '../config/settings.ts';
import { BerthError } from '../errors.ts';
import { unitProperty } from '../system/systemd-units.ts';
import { failed, type Finding, ok, skipped } from '../finding.ts';

/** What Apache is called: by Debian, and by others. */
const services = ['apache2.service', 'httpd.service'];

/**
 * `portal-sandbox`: whether Apache's unit hides files that the hook reads. The hook is a child of Apache's
 * and sees what Apache sees; Ubuntu 26.04 hides /root from it, and so does OnDemand's drop-in there.
 */
export async function sandboxFinding(settings: Pick<SiteSettings, 'clusters'>): Promise<Finding> {
  try {
    for (const service of services) {
      const [inaccessible = '', protectHome = ''] = await Promise.all(
        ['InaccessiblePaths', 'ProtectHome'].map((name) => unitProperty(service, name)),
      );
      const hidden = hiddenPaths(inaccessible, protectHome);
      const found = filesOf(settings).find(({ path }) =>
        hidden.some((above) => isWithin(path, above)),
      );
      if (found !== undefined)
        return failed(
          `${service} hides ${found.path} from the hook`,
          `Move it, for example to /etc/berth, and set ${found.key} in berth.yml. Hidden paths: \`systemctl show --property=InaccessiblePaths,ProtectHome ${service}\``,
        );
    }
  } catch (error) {
    if (error instanceof BerthError && error.code === 'systemctl-failed')
      return skipped('systemd does not say what Apache’s unit hides');
    throw error;
  }
  return ok('Apache’s unit hides neither admin.kubeconfig nor the pull secret from the hook');
}

/** What only root may read, and the hook must: the files, and their keys in berth.yml. */
function filesOf({
  clusters,
}: Pick<SiteSettings, 'clusters'>): { readonly path: string; readonly key: string }[] {
  return clusters.flatMap(({ admin, pullSecret }) => [
    { path: admin.file, key: 'admin.kubeconfig' },
    ...(pullSecret === undefined
      ? []
      : [{ path: pullSecret.dockerConfigFile, key: 'pull_secret.docker_config_json' }]),
  ]);
}

/** As systemd.exec(5) has them: `-` before a path that need not be there. */
function hiddenPaths(inaccessible: string, protectHome: string): string[] {
  return [
    ...inaccessible.split(/\s+/).flatMap((path) => path.replace(/^[-+]+/, '') || []),
    ...(protectHome === 'yes' || protectHome === 'tmpfs' ? ['/home', '/root', '/run/user'] : []),
  ];
}
