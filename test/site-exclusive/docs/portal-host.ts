import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { publicDirectory } from '../../rig/site/directories.ts';
import { Portal, type HookResult } from '../../rig/site/portal.ts';
import type { Site } from '../../rig/site/site.ts';

const repository = new URL('../../..', import.meta.url).pathname;

/**
 * A portal host without Berth, for the commands of the documentation. They run in a mount namespace whose /etc is a copy
 * with OnDemand's files. /usr/lib/berth and /root are replaced by directories of the test, because the machine's own must
 * not change.
 */
export class PortalHost {
  readonly site: Site;
  readonly portal: Portal;
  readonly directory: string;

  private constructor(site: Site, portal: Portal, directory: string) {
    this.site = site;
    this.portal = portal;
    this.directory = directory;
  }

  static async make(site: Site): Promise<PortalHost> {
    const portal = await Portal.make(site);
    const host = new PortalHost(site, portal, await mkdtemp(join(publicDirectory, 'host-')));
    await execa('chmod', ['0755', host.directory]);
    await cp('/etc', host.path('/etc'), {
      recursive: true,
      verbatimSymlinks: true,
      // Other tests add accounts at the same time: of these files useradd(8) makes copies and locks, and removes them.
      filter: (path) => !/^\/etc\/(?:passwd|group|g?shadow|sub[ug]id)[.+-]/.test(path),
    });
    for (const directory of ['/root', '/etc/berth', '/etc/ood/config/clusters.d'])
      await mkdir(host.path(directory), { recursive: true });
    await cp(portal.files.hookEnv, host.path('/etc/ood/config/hook.env'));
    await cp(portal.files.clustersDir, host.path('/etc/ood/config/clusters.d'), {
      recursive: true,
    });
    await portal.writeBerth({
      hook_env: '/etc/ood/config/hook.env',
      clusters_dir: '/etc/ood/config/clusters.d',
      kube_credential: host.path('/usr/lib/berth/shell/kube-credential'),
      defaults: { admin: { kubeconfig: host.path('/root/.kube/config') } },
    });
    await cp(portal.files.berth, host.path('/etc/berth/berth.yml'));
    await cp(site.adminKubeconfig, host.path('/root/admin.kubeconfig'));
    return host;
  }

  /** The real path of a path of the host. */
  path(path: string): string {
    return this.directory + path;
  }

  /** Runs a command line of the documentation in the checkout. */
  async run(command: string, env: Readonly<Record<string, string>> = {}): Promise<HookResult> {
    const enter = 'mount --bind "$1" /etc && exec bash -euo pipefail -c "$2"';
    const adapted = command
      .replaceAll('/usr/lib/berth', this.path('/usr/lib/berth'))
      .replaceAll('/root/', this.path('/root/'))
      .replaceAll(
        /^kubectl\b/gm,
        `${this.site.kubectlPath} --kubeconfig ${this.site.adminKubeconfig}`,
      );
    const { exitCode, stdout, stderr, shortMessage } = await execa(
      'unshare',
      [
        ...['--mount', '--propagation', 'private', 'bash', '-c', enter, 'bash'],
        ...[this.path('/etc'), adapted],
      ],
      { reject: false, cwd: repository, env, stdin: 'ignore', timeout: 300_000 },
    );
    if (exitCode === undefined) throw new Error(shortMessage);
    return { exitCode, stdout, stderr };
  }

  async remove(): Promise<void> {
    await this.portal.remove();
    await rm(this.directory, { recursive: true, force: true });
  }
}
