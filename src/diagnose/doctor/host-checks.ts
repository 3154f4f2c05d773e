import { lstat, stat } from 'node:fs/promises';
import {
  type CheckId,
  type CheckResult,
  failed,
  type Finding,
  ok,
  skipped,
  warning,
} from '../../system/errors/check-result.ts';
import { runCheck } from '../../system/run-check.ts';
import { tokenSetupCommand } from '../../clusters/access/token-state.ts';
import type { ResolveConfigPath } from '../../config/load/config-path.ts';
import type { ClusterSettings, SiteSettings } from '../../config/schema/settings.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { octal } from '../../system/config-directories.ts';
import { fileIdentity } from '../../system/config-files.ts';
import { ifExists } from '../../system/if-present.ts';
import { programFault } from './program-fault.ts';

/** Node 22.19: what package.json's `engines` asks for. */
const oldestNode = [22, 19] as const;

/** The Node that runs `berth`; the `#!` line of the hook names the same one. */
export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldMajor, oldMinor] = oldestNode;
  return major > oldMajor || (major === oldMajor && minor >= oldMinor)
    ? ok(`Node ${version}`)
    : failed(
        `Node ${version} is too old`,
        `Install Node ${oldestNode.join('.')} or later and build with --node PATH.`,
      );
}

/** The files of this host that only root may change. */
export async function checkHost(settings: SiteSettings, timeoutMs: number): Promise<CheckResult[]> {
  const run = (id: CheckId, work: () => Promise<Finding>, cluster?: string) =>
    runCheck(id, work, timeoutMs, cluster);
  return Promise.all([
    run('state-dir', () => stateDirFinding(settings.stateDir)),
    run('kube-credential', () => commandFinding(settings)),
    ...settings.clusters.flatMap(({ name, admin, pullSecret, server }) => [
      run(
        'admin-kubeconfig-mode',
        () => secretFileFinding(admin.file, kubeconfigHint({ name, admin })),
        name,
      ),
      ...(pullSecret === undefined
        ? []
        : [
            run(
              'docker-config-mode',
              () =>
                secretFileFinding(
                  pullSecret.dockerConfigFile,
                  'Correct REGISTRY_DOCKER_CONFIG_JSON in hook.env, or pull_secret in berth.yml.',
                ),
              name,
            ),
          ]),
      ...(server.caFile === undefined
        ? []
        : [run('cluster-ca', () => readableFinding(server.caFile ?? ''), name)]),
    ]),
    // The broker renews the tokens of a confidential client.
    ...(settings.clusters.some(
      ({ credentials }) => credentials.mode === 'oidc' && credentials.clientAuth !== undefined,
    )
      ? [run('broker-units', brokerFinding)]
      : []),
  ]);
}

async function stateDirFinding(path: string): Promise<Finding> {
  const status = await ifExists(lstat(path));
  if (status === undefined) return ok(`${path} does not exist yet: the first login creates it`);
  if (!status.isDirectory())
    return failed(`${path} is not a directory`, `Remove it: the next login creates it.`);
  if (status.uid !== 0)
    return failed(`${path} belongs to UID ${status.uid}`, `chown root ${path}; chmod 700 ${path}`);
  if ((status.mode & 0o077) !== 0)
    return warning(
      `others have access to ${path} (mode ${octal(status.mode)})`,
      `chmod 700 ${path}`,
    );
  return ok(`only its owner can access ${path}`);
}

/** What writes root's kubeconfig. */
export function kubeconfigHint(cluster: Pick<ClusterSettings, 'name' | 'admin'>): string {
  return `Run \`${tokenSetupCommand(cluster)}\`, which writes it, or correct admin.kubeconfig in berth.yml.`;
}

/** A file with a secret. Who can write it can redirect what root does. */
async function secretFileFinding(path: string, ifMissing: string): Promise<Finding> {
  const status = await ifExists(stat(path));
  if (status === undefined) return failed(`${path} does not exist`, ifMissing);
  const mode = octal(status.mode);
  if (status.uid !== 0)
    return failed(`${path} belongs to UID ${status.uid}`, `chown root ${path}; chmod 600 ${path}`);
  if ((status.mode & 0o022) !== 0)
    return failed(`others can write ${path} (mode ${mode})`, `chmod 600 ${path}`);
  if ((status.mode & 0o004) !== 0)
    return failed(`everybody can read the secrets in ${path} (mode ${mode})`, `chmod 600 ${path}`);
  if ((status.mode & 0o040) !== 0)
    return warning(`group ${status.gid} can read ${path} (mode ${mode})`, `chmod 600 ${path}`);
  return ok(`only its owner can access ${path}`);
}

/** Kubeconfigs of users name the CA file, so users must be able to read it. */
async function readableFinding(path: string): Promise<Finding> {
  const status = await ifExists(stat(path));
  if (status === undefined)
    return failed(`${path} does not exist`, 'Correct v2.job.server.cert_authority_file.');
  return (status.mode & 0o004) === 0
    ? warning(
        `users cannot read ${path} (mode ${octal(status.mode)}), but their kubeconfigs name it`,
        `chmod 644 ${path}`,
      )
    : ok(`users can read ${path}`);
}

/** The exec plugin runs as each user, from the path in their kubeconfigs. */
async function commandFinding(settings: SiteSettings): Promise<Finding> {
  const path = settings.kubeCredentialCommand;
  const modes = settings.clusters.map(({ credentials }) => credentials.mode);
  if (!modes.some((mode) => mode === 'oidc' || mode === 'service-account'))
    return skipped('no cluster is configured with credentials from Berth');
  const fault = await programFault(
    path,
    `Set it in berth.yml: kube_credential: ${installedPath('shell/kube-credential')}.`,
  );
  return fault ?? ok(`${path} belongs to root and users can run it`);
}

const unitDirectories = [
  '/etc/systemd/system',
  '/run/systemd/system',
  '/usr/local/lib/systemd/system',
  '/usr/lib/systemd/system',
  '/lib/systemd/system',
];
const units = ['berth-broker@.socket', 'berth-broker@.service', 'berth-broker.slice'];

async function brokerFinding(): Promise<Finding> {
  for (const unit of units) {
    const found = await Promise.all(
      unitDirectories.map((directory) => ifExists(stat(`${directory}/${unit}`))),
    );
    if (found.every((status) => status === undefined))
      return failed(
        `${unit} is not installed: tokens of users are not renewed between logins`,
        `Copy ${installedPath('share/etc/systemd/berth-broker*')} to /etc/systemd/system and run \`systemctl daemon-reload\`.`,
      );
  }
  if ((await ifExists(stat('/run/systemd/system'))) === undefined)
    return warning(
      'systemd does not run here: tokens of users are not renewed between logins',
      'Run the portal on a host with systemd, or use a public client.',
    );
  return ok('the units of the broker are installed');
}

/** Checks the files that only `berth render` reads, if this host has them: `admission.yml` and `balancer.yml`. */
export async function checkRenderFiles(
  at: ResolveConfigPath,
  timeoutMs: number,
): Promise<CheckResult[]> {
  const checks = (['admission', 'balancer'] as const).map((name) => ({
    id: `${name}-config` as const,
    file: at(`/etc/berth/${name}.yml`),
    finding: findings[name],
  }));
  return Promise.all(
    checks
      .filter(({ file }) => fileIdentity(file) !== 'absent')
      .map(({ id, file, finding }) => runCheck(id, () => finding(file), timeoutMs)),
  );
}

const findings: Readonly<Record<'admission' | 'balancer', (file: string) => Promise<Finding>>> = {
  admission: async (file) => {
    const { loadAdmissionParameters } = await import('../../config/load/load-render-files.ts');
    loadAdmissionParameters(file, { required: true });
    return ok(`${file} is valid`);
  },
  balancer: async (file) => {
    const { loadBalancerSettings } = await import('../../config/load/load-render-files.ts');
    const { kinds } = loadBalancerSettings(file);
    return ok(`${file} is valid; kinds: ${kinds.map(({ name }) => name).join(', ')}`);
  },
};
