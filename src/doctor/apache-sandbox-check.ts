import { isWithin } from '../config/profile/protected-directories.ts';
import type { SiteSettings } from '../config/settings.ts';
import { BerthError } from '../errors.ts';
import { unitProperty } from '../system/systemd-units.ts';
import { failed, type Finding, ok, skipped } from '../check-result.ts';

/** The unit of Apache on Debian, and elsewhere. */
const services = ['apache2.service', 'httpd.service'];

/**
 * `portal-sandbox`: whether the unit of Apache hides files that the hook reads. The hook is a child of
 * Apache and sees the same files; Ubuntu 26.04 hides /root, and so does OnDemand's drop-in there.
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
      return skipped('systemd does not report which paths the unit of Apache hides');
    throw error;
  }
  return ok('the unit of Apache hides neither admin.kubeconfig nor the pull secret from the hook');
}

/** The files that only root may read and the hook needs, with their keys in berth.yml. */
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

/** As in systemd.exec(5): a leading `-` marks a path that may be missing. */
function hiddenPaths(inaccessible: string, protectHome: string): string[] {
  return [
    ...inaccessible.split(/\s+/).flatMap((path) => path.replace(/^[-+]+/, '') || []),
    ...(protectHome === 'yes' || protectHome === 'tmpfs' ? ['/home', '/root', '/run/user'] : []),
  ];
}
