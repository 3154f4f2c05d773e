import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  type CheckResult,
  failed,
  type Finding,
  ok,
  skipped,
} from '../../system/errors/check-result.ts';
import { runCheck } from '../../system/run-check.ts';
import { oidcSettingsOf, type SiteSettings } from '../../config/schema/settings.ts';
import { apacheFiles, type PortalSources, readPortal } from '../../config/load/read-portal.ts';
import type { PortalConfig } from '../../config/schema/portal-config.ts';
import { isWithin } from '../../config/schema/profile/mount-path.ts';
import { BerthError, expectErrno } from '../../system/errors/berth-error.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { replaceableFindings } from '../../setup/sshd-lint/lint-file-permissions.ts';
import { propertiesOfUnits } from '../../system/systemd-units.ts';
import { ondemandDirectory } from './portal-environment.ts';
import {
  cookieFinding,
  exportsFinding,
  refreshFinding,
  tokensFinding,
} from './portal-token-checks.ts';

const generator = '/opt/ood/ood-portal-generator/sbin/update_ood_portal';

/**
 * OnDemand's settings for a login: `ood_portal.yml` beside `clusters.d`, and the configuration of Apache
 * that is generated from it, which has precedence.
 */
export async function checkPortal(
  settings: SiteSettings,
  timeoutMs: number,
  candidates = apacheFiles,
): Promise<CheckResult[]> {
  const { clustersDir } = settings;
  const file = join(ondemandDirectory(clustersDir) ?? dirname(clustersDir), 'ood_portal.yml');
  let sources: PortalSources = { file };
  const run = async (): Promise<Finding> => {
    sources = readPortal(file, candidates);
    return hookFinding(sources);
  };
  const hook = await runCheck('portal-hook', run, timeoutMs);
  const portal = sources.apache ?? sources.yml;
  if (portal === undefined) return [hook];
  const sandbox = await runCheck('portal-sandbox', () => sandboxFinding(settings), timeoutMs);
  const clusters = settings.clusters.flatMap((cluster) => oidcSettingsOf(cluster) ?? []);
  if (clusters.length === 0) return [hook, sandbox];
  if (!portal.openidc) {
    const why = 'the portal does not log users in with mod_auth_openidc';
    return [hook, sandbox, { id: 'portal-tokens', ...skipped(why) }];
  }
  return [
    hook,
    sandbox,
    { id: 'portal-tokens', ...judged(sources, tokensFinding) },
    { id: 'portal-session-cookie', ...judged(sources, cookieFinding) },
    { id: 'portal-exports', ...judged(sources, (one) => exportsFinding(one, clusters)) },
    { id: 'portal-refresh', ...judged(sources, (one) => refreshFinding(one, clusters)) },
  ];
}

/** Judges what Apache reads. If only `ood_portal.yml` is correct, the generator has to be run. */
function judged(
  { file, yml, apache }: PortalSources,
  judge: (portal: PortalConfig) => Finding,
): Finding {
  const [finding, wanted] = [apache, yml].flatMap((one) => (one === undefined ? [] : judge(one)));
  if (finding === undefined || !('next' in finding))
    return finding ?? skipped(`there is no ${file}`);
  const apply = `run ${generator} and restart Apache`;
  return {
    ...finding,
    next:
      wanted?.status === 'ok'
        ? `${file} is correct, but Apache's generated configuration is older: ${apply}.`
        : `${finding.next} Edit ${file}; then ${apply}.`,
  };
}

async function hookFinding({ file, yml, apache }: PortalSources): Promise<Finding> {
  const portal = apache ?? yml;
  if (portal === undefined) return skipped(`there is no ${file}`);
  const { hook } = portal;
  const ours = `pun_pre_hook_root_cmd: ${installedPath('hooks/pre-pun')}`;
  const apply = `run ${generator} and restart Apache`;
  if (hook === undefined)
    return failed(
      'OnDemand is not configured to run a pre-PUN hook',
      yml?.hook === undefined
        ? `Write \`${ours}\` into ${file}, ${apply}.`
        : `${file} sets pun_pre_hook_root_cmd, but Apache's generated configuration does not have it: ${apply}.`,
    );
  if (yml?.hook !== undefined && yml.hook !== hook)
    return failed(
      `OnDemand still runs ${hook}: ${file} names ${yml.hook}, but Apache's generated configuration does not`,
      `Run ${generator} and restart Apache.`,
    );
  try {
    const status = await stat(hook);
    if (status.isFile() && (status.mode & 0o111) !== 0) {
      const [open] = await replaceableFindings(hook, 'program-writable');
      return open === undefined
        ? ok(`OnDemand runs ${hook}`)
        : failed(`root runs the hook, and ${open.message}`, open.closedBy);
    }
  } catch (error) {
    expectErrno(error);
  }
  return failed(
    `OnDemand cannot run the hook: '${hook}' is not an executable file`,
    `Set pun_pre_hook_root_cmd in ${file} to the path of one program, without arguments: \`${ours}\`. Then ${apply}.`,
  );
}

/** The unit of Apache on Debian, and elsewhere. */
const services = ['apache2.service', 'httpd.service'];

/**
 * `portal-sandbox`: whether the unit of Apache hides files that the hook reads. The hook is a child of
 * Apache and sees the same files; Ubuntu 26.04 hides /root, and so does OnDemand's drop-in there.
 */
async function sandboxFinding(settings: Pick<SiteSettings, 'clusters'>): Promise<Finding> {
  try {
    const names = ['Id', 'InaccessiblePaths', 'ProtectHome'];
    for (const unit of await propertiesOfUnits(services, names)) {
      const [service = '', inaccessible = '', protectHome = ''] = names.map((name) =>
        unit.get(name),
      );
      // As in systemd.exec(5): a leading `-` marks a path that may be missing.
      const hidden = [
        ...inaccessible.split(/\s+/).flatMap((path) => path.replace(/^[-+]+/, '') || []),
        ...(protectHome === 'yes' || protectHome === 'tmpfs'
          ? ['/home', '/root', '/run/user']
          : []),
      ];
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
      return skipped('systemd does not report which paths Apache’s unit hides');
    throw error;
  }
  return ok('Apache’s unit hides neither admin.kubeconfig nor the pull secret from the hook');
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
