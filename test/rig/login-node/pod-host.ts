import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hookKubeconfig, Portal, type PortalOptions } from '../site/portal.ts';
import { ensureNode } from '../site/kubernetes-node/node.ts';
import type { Site } from '../site/site.ts';
import { SshHost, type SshHostOptions } from './ssh-host.ts';

const components = new URL('../../../etc/kubernetes', import.meta.url).pathname;

/** A login node whose sessions run in pods on the site's node. */
export interface PodHost {
  readonly host: SshHost;
  readonly portal: Portal;
  stop(): Promise<void>;
}

interface BerthKeys {
  readonly defaults?: object;
  readonly [key: string]: unknown;
}

export interface PodHostOptions {
  readonly mode: 'forced' | 'login-shell';
  readonly name?: SshHostOptions['name'];
  readonly address?: SshHostOptions['address'];
  /** A login node with the same users, whose homes this one shares. */
  readonly beside?: PodHost;
  readonly users?: SshHostOptions['users'];
  /** Keys of the profile `base` that override the defaults. */
  readonly profile?: object;
  /** Further profiles; each overrides keys of `base`. */
  readonly profiles?: Readonly<Record<string, object>>;
  readonly sshYml?: object;
  /** Lines of sshd_config, which take precedence over the defaults. */
  readonly sshd?: string;
  /** Further mounts of the profile. */
  readonly mounts?: readonly object[];
  /** The image store; default: none. */
  readonly images?: SshHostOptions['images'];
  /** The clusters; default: one cluster `prod`. */
  readonly clusters?: PortalOptions['clusters'];
  /** Keys of berth.yml, and of its `defaults`. */
  readonly berth?: BerthKeys;
}

/** Mounts the home of the login node: host and node share the file system. */
const homeMount = (directory: string): object => ({
  source: `${directory}/homes/$USER`,
  target: '$HOME',
});

/** Prepares the cluster for sessions and writes the login node's berth.yml. @param clusters default: one cluster `prod` */
export async function podPortal(
  site: Site,
  clusters?: PortalOptions['clusters'],
  { defaults, ...berth }: BerthKeys = {},
): Promise<Portal> {
  for (const component of ['', 'ssh-sessions']) {
    const applied = await site.kubectl(['apply', '-k', join(components, component)]);
    if (applied.exitCode !== 0) throw new Error(applied.stderr);
  }
  const account = { namespace: 'ondemand', name: 'berth-login' };
  return Portal.make(site, {
    ...(clusters === undefined ? {} : { clusters }),
    kubeconfig: await hookKubeconfig(site, site.server, account),
    berth: { ...berth, defaults: { ssh_sessions: {}, ...defaults } },
    // Images of sessions are imported, so no pull secret is needed.
    hookEnv: { IMAGE_PULL_SECRET: '', REGISTRY_DOCKER_CONFIG_JSON: '' },
  });
}

export async function startPodHost(site: Site, options: PodHostOptions): Promise<PodHost> {
  const node = await ensureNode(site);
  const image = await node.image('site');
  const portal = await podPortal(site, options.clusters, options.berth);
  const host = await SshHost.start({
    mode: options.mode,
    images: options.images ?? false,
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.address === undefined ? {} : { address: options.address }),
    ...(options.beside === undefined ? {} : { beside: options.beside.host }),
    ...(options.users === undefined ? {} : { users: options.users }),
    ...(options.sshd === undefined ? {} : { sshd: options.sshd }),
    etc: { 'berth/berth.yml': await readFile(portal.files.berth, 'utf8') },
    ...(options.sshYml === undefined ? {} : { sshYml: options.sshYml }),
    profiles: (directory) => {
      const base = {
        ...{ backend: 'pod', image, pull: 'missing', lifetime: 'connection' },
        ...{ mounts: [homeMount(directory), ...(options.mounts ?? [])], deadline: '60s' },
        ...options.profile,
      };
      const profiles: Record<string, object> = { base };
      for (const [name, profile] of Object.entries(options.profiles ?? {}))
        profiles[name] = { ...base, ...profile };
      return profiles;
    },
  });
  // Pods with `lifetime: user` would outlive the host, whose homes they mount.
  const endPods = async (): Promise<void> => {
    const args = ['delete', 'pods', '-l', 'app.kubernetes.io/managed-by=berth', '--now'];
    for (const { name } of host.users) await site.kubectl(['-n', `u-${name}`, ...args]);
  };
  await endPods();
  return {
    host,
    portal,
    stop: async () => {
      await endPods();
      await host.stop();
      await portal.remove();
    },
  };
}
