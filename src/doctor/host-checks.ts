import { lstat, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { SiteSettings } from '../config/settings.ts';
import {
  type CheckResult,
  failed,
  type Finding,
  ok,
  runCheck,
  skipped,
  warning,
} from '../finding.ts';
import { there } from './if-exists.ts';
import { installedPath } from '../installed-path.ts';

export interface HostInput {
  /** `process.versions.node`. */
  readonly nodeVersion: string;
  /** Who must own what: root's 0, but for tests. */
  readonly uid: number;
  readonly timeoutMs: number;
}

/** Node 22.19: what package.json's `engines` asks for. */
const oldestNode = [22, 19] as const;

/** The Node that runs this; the hook's `#!` line names its own, which is the same build. */
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

/** What is on this host and of which only root may have a say. */
export async function checkHost(
  settings: SiteSettings,
  { uid, timeoutMs }: HostInput,
): Promise<CheckResult[]> {
  const run = (id: string, work: () => Promise<Finding>, cluster?: string) =>
    runCheck({ id, run: work, ...(cluster === undefined ? {} : { cluster }) }, timeoutMs);
  return Promise.all([
    run('state-dir', () => stateDirFinding(settings.stateDir, uid)),
    run('kube-credential', () => commandFinding(settings, uid)),
    ...settings.clusters.flatMap(({ name, admin, pullSecret, server }) => [
      run('admin-kubeconfig-mode', () => secretFileFinding(admin.file, uid), name),
      ...(pullSecret === undefined
        ? []
        : [
            run(
              'docker-config-mode',
              () => secretFileFinding(pullSecret.dockerConfigFile, uid),
              name,
            ),
          ]),
      ...(server.caFile === undefined
        ? []
        : [run('cluster-ca', () => readableFinding(server.caFile ?? ''), name)]),
    ]),
    ...(needsBroker(settings) ? [run('broker-units', brokerFinding)] : []),
  ]);
}

/** A confidential client's tokens are renewed by the broker. */
function needsBroker({ clusters }: SiteSettings): boolean {
  return clusters.some(
    ({ credentials }) => credentials.mode === 'oidc' && credentials.clientSecret !== undefined,
  );
}

async function stateDirFinding(path: string, uid: number): Promise<Finding> {
  const status = await there(lstat(path));
  if (status === undefined) return ok(`${path} is not there yet: the first login makes it`);
  if (!status.isDirectory())
    return failed(`${path} is no directory`, `Remove it: the next login makes it anew.`);
  if (status.uid !== uid)
    return failed(`${path} is of UID ${status.uid}`, `chown ${uid} ${path}; chmod 700 ${path}`);
  if ((status.mode & 0o077) !== 0)
    return warning(
      `others have access to ${path} (mode ${octal(status.mode)})`,
      `chmod 700 ${path}`,
    );
  return ok(`${path} is closed to others`);
}

/** A file with a secret in it: whoever could write it could send root anywhere. */
async function secretFileFinding(path: string, uid: number): Promise<Finding> {
  const status = await there(stat(path));
  if (status === undefined)
    return failed(`${path} is not there`, 'Name the right file in berth.yml or hook.env.');
  const mode = octal(status.mode);
  if (status.uid !== uid && status.uid !== 0)
    return failed(`${path} is of UID ${status.uid}`, `chown root ${path}; chmod 600 ${path}`);
  if ((status.mode & 0o022) !== 0)
    return failed(`others can write ${path} (mode ${mode})`, `chmod 600 ${path}`);
  if ((status.mode & 0o004) !== 0)
    return failed(`everybody can read the secrets in ${path} (mode ${mode})`, `chmod 600 ${path}`);
  if ((status.mode & 0o040) !== 0)
    return warning(`group ${status.gid} can read ${path} (mode ${mode})`, `chmod 600 ${path}`);
  return ok(`${path} is closed to others`);
}

/** The CA is named in users' kubeconfigs, so users must be able to read it. */
async function readableFinding(path: string): Promise<Finding> {
  const status = await there(stat(path));
  if (status === undefined)
    return failed(
      `${path} is not there`,
      'Name the right file: v2.job.server.cert_authority_file.',
    );
  return (status.mode & 0o004) === 0
    ? warning(
        `users cannot read ${path} (mode ${octal(status.mode)}), which their kubeconfigs name`,
        `chmod 644 ${path}`,
      )
    : ok(`users can read ${path}`);
}

/** The plugin runs as each user, from a path that is in their kubeconfigs. */
async function commandFinding(settings: SiteSettings, uid: number): Promise<Finding> {
  const path = settings.kubeCredentialCommand;
  const modes = settings.clusters.map(({ credentials }) => credentials.mode);
  if (!modes.some((mode) => mode === 'oidc' || mode === 'service-account'))
    return skipped('no cluster gives users credentials of ours');
  const status = await there(stat(path));
  if (status === undefined)
    return failed(
      `${path} is not there`,
      `Name the installed one in berth.yml: kube_credential: ${installedPath('shell/kube-credential')}.`,
    );
  if (!status.isFile() || (status.mode & 0o001) === 0)
    return failed(`users cannot run ${path} (mode ${octal(status.mode)})`, `chmod 755 ${path}`);
  for (let part = path; ; part = dirname(part)) {
    const { uid: owner, mode } = await stat(part);
    // A folder such as /tmp that all can write keeps its files by the sticky bit.
    const open = (mode & 0o022) !== 0 && !(part !== path && (mode & 0o1000) !== 0);
    if ((owner !== 0 && owner !== uid) || open)
      return failed(
        `others than root can replace ${path}: ${part} is of UID ${owner}, mode ${octal(mode)}`,
        `chown root:root ${part}; chmod go-w ${part}`,
      );
    if (part === dirname(part)) break;
  }
  return ok(`${path} is root's and runs`);
}

const unitFolders = [
  '/etc/systemd/system',
  '/run/systemd/system',
  '/usr/local/lib/systemd/system',
  '/usr/lib/systemd/system',
  '/lib/systemd/system',
];
const units = ['berth-broker@.socket', 'berth-broker@.service', 'berth-broker.slice'];

async function brokerFinding(): Promise<Finding> {
  for (const unit of units) {
    const found = await Promise.all(unitFolders.map((folder) => there(stat(`${folder}/${unit}`))));
    if (found.every((status) => status === undefined))
      return failed(
        `${unit} is not installed: tokens of users are not renewed between logins`,
        `Copy ${installedPath('share/etc/systemd/berth-broker*')} to /etc/systemd/system and run systemctl daemon-reload.`,
      );
  }
  if ((await there(stat('/run/systemd/system'))) === undefined)
    return warning(
      'systemd does not run here: tokens of users are not renewed between logins',
      'Run the portal on a host with systemd, or use a public client.',
    );
  return ok('the units of the broker are installed');
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}
