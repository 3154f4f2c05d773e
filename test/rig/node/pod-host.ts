import { readFile } from 'node:fs/promises';
import { hookKubeconfig, Portal, type PortalOptions } from '../site/portal.ts';
import { ensureNode } from '../site/node/node.ts';
import type { Site } from '../site/site.ts';
import { SshHost, type SshHostOptions } from './ssh-host.ts';

/** A login node whose sessions are pods on the site's node. */
export interface PodHost {
  readonly host: SshHost;
  readonly portal: Portal;
  stop(): Promise<void>;
}

export interface PodHostOptions {
  readonly mode: 'forced' | 'login-shell';
  readonly users?: SshHostOptions['users'];
  /** Of the profile `base`, over what every test wants. */
  readonly profile?: object;
  /** Further profiles, each over `base`. */
  readonly profiles?: Readonly<Record<string, object>>;
  readonly sshYml?: object;
  /** Lines of sshd_config that count before ours. */
  readonly sshd?: string;
}

/** The home of the login node as a folder that the node sees: one file system for host and pods. */
const homeMount = (folder: string): object => ({
  source: `${folder}/homes/$USER`,
  target: '$HOME',
});

/** What a login node needs of the cluster, and its berth.yml; of OnDemand's clusters one where not said. */
export async function podPortal(site: Site, clusters?: PortalOptions['clusters']): Promise<Portal> {
  for (const what of [
    ['-k', 'etc/kubernetes'],
    ['-f', 'etc/kubernetes/ssh-sessions.yaml'],
  ]) {
    const applied = await site.kubectl(['apply', ...what]);
    if (applied.exitCode !== 0) throw new Error(applied.stderr);
  }
  const account = { namespace: 'ondemand', name: 'berth-login' };
  return Portal.make(site, {
    ...(clusters === undefined ? {} : { clusters }),
    kubeconfig: await hookKubeconfig(site, site.server, account),
    berth: { defaults: { ssh_sessions: {} } },
    // The site's registry has nothing to do with the images of sessions.
    hookEnv: { IMAGE_PULL_SECRET: '', REGISTRY_DOCKER_CONFIG_JSON: '' },
  });
}

export async function startPodHost(site: Site, options: PodHostOptions): Promise<PodHost> {
  const node = await ensureNode(site);
  const image = await node.image('site');
  const portal = await podPortal(site);
  const host = await SshHost.start({
    mode: options.mode,
    images: false,
    ...(options.users === undefined ? {} : { users: options.users }),
    ...(options.sshd === undefined ? {} : { sshd: options.sshd }),
    etc: { 'berth/berth.yml': await readFile(portal.files.berth, 'utf8') },
    ...(options.sshYml === undefined ? {} : { sshYml: options.sshYml }),
    profiles: (folder) => {
      const base = {
        ...{ backend: 'pod', image, pull: 'missing', lifetime: 'connection' },
        ...{ mounts: [homeMount(folder)], deadline: '60s' },
        ...options.profile,
      };
      const profiles: Record<string, object> = { base };
      for (const [name, profile] of Object.entries(options.profiles ?? {}))
        profiles[name] = { ...base, ...profile };
      return profiles;
    },
  });
  // Pods of `lifetime: user` stay; the homes that they have go with this host.
  const endPods = async (): Promise<void> => {
    const words = ['delete', 'pods', '-l', 'app.kubernetes.io/managed-by=berth', '--now'];
    for (const { name } of host.users) await site.kubectl(['-n', `u-${name}`, ...words]);
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
