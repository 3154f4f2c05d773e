import { existsSync } from 'node:fs';
import type { ResolveConfigPath } from '../../config/load/config-path.ts';
import { defaultConfigFile, defaultSettings } from '../../config/schema/default-settings.ts';
import type { SshSettings } from '../../config/schema/profile/profile.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { pamFileFindings } from '../../setup/sshd-lint/lint-pam.ts';
import { fileIdentity } from '../../system/config-files.ts';
import { ondemandDirectory } from './portal-environment.ts';
import { hasPamHook } from './ssh-checks.ts';

/** True if this host has SSH sessions. */
export function isSshHost(configFile: string): boolean {
  return fileIdentity(configFile) !== 'absent';
}

/** True if this host has SSH sessions only, and neither Open OnDemand nor a berth.yml. */
export function isOnlySshHost(configFile: string, at: ResolveConfigPath): boolean {
  const isPortal = [defaultConfigFile, defaultSettings.clustersDir, '/etc/ood'].some(
    (path) => fileIdentity(at(path)) !== 'absent',
  );
  return isSshHost(at(configFile)) && !isPortal;
}

/** Whether a missing configuration of clusters is none: a host without OnDemand may have a berth.yml copied from the example. */
export function isWithoutClusters(error: unknown): boolean {
  return (
    error instanceof BerthError &&
    error.code === 'config-missing' &&
    String(error.fields.file).startsWith('/etc/ood/') &&
    !existsSync('/etc/ood')
  );
}

/** What a host does for Berth. */
export type HostRole = 'portal' | 'login-node' | 'compute-node' | 'hub';

/**
 * The roles of this host, by what is configured: OnDemand's portal; ssh.yml, and PAM of sshd if slurmd is here too, for which
 * ssh.yml is the same on compute nodes; the socket of a JupyterHub.
 *
 * @param settings of ssh.yml, if they can be read: with a mistake in it, the host is a login node, too
 */
export async function hostRoles(
  clustersDir: string,
  settings: SshSettings | undefined,
): Promise<readonly HostRole[]> {
  const isCompute = isSshHost('/etc/berth/ssh.yml') && existsSync('/usr/sbin/slurmd');
  const hasSessions = isSshHost('/etc/berth/ssh.yml') && settings?.noSessions !== true;
  const isLogin = hasSessions && (!isCompute || hasPamHook(await pamFileFindings('sshd')));
  const found: Readonly<Record<HostRole, boolean>> = {
    portal: ondemandDirectory(clustersDir) !== undefined,
    'login-node': isLogin,
    'compute-node': isCompute,
    hub: existsSync('/etc/systemd/system/sockets.target.wants/berth-hub.socket'),
  };
  return (Object.keys(found) as HostRole[]).filter((role) => found[role]);
}
