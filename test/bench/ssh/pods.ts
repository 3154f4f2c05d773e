import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startPodHost, type PodHost } from '../../rig/login-node/pod-host.ts';
import { writeKubeconfig } from '../../rig/site/kubernetes/kubeconfig.ts';
import { ensureNode } from '../../rig/site/kubernetes-node/node.ts';
import { installBerth } from '../../rig/site/portal.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { measure, type Command } from '../measure.ts';

const user = 'bench-pod';
const namespace = `u-${user}`;
const freshUser = 'bench-fresh-pod';

/** The same pod through three ways, and a host with a pod per connection. */
export interface PodNodes {
  readonly site: Site;
  readonly host: SshHost;
  /** Berth with one pod for all of the user's connections. */
  readonly berth: (...words: string[]) => Command;
  /** A forced `kubectl exec`, on the same host, where the PAM hook runs too. */
  readonly kubectl: (...words: string[]) => Command;
  /** A forced `kubectl exec` on a host without Berth. */
  readonly kubectlAlone: (...words: string[]) => Command;
  /** Berth with a pod per connection. */
  readonly fresh: (...words: string[]) => Command;
  readonly freshNamespace: string;
  readonly image: string;
  /** The user of all hosts but `fresh`. */
  readonly uid: number;
  stop(): Promise<void>;
}

export async function openPods(): Promise<PodNodes> {
  await installBerth();
  const site = await openSite();
  const image = await (await ensureNode(site)).image('site');
  // A pod of an earlier run has the home of that run.
  const removePods = (): Promise<unknown> =>
    Promise.all(
      [user, freshUser].map((name) =>
        site.kubectl(['-n', `u-${name}`, 'delete', 'pods', '--all', '--wait=true', '--now']),
      ),
    );
  await removePods();
  const { port } = await freePorts(['port']);
  const peer = '/etc/ssh/kubectl-exec';
  const warm = await startPodHost(site, {
    ...{ mode: 'forced', users: { [user]: [] } },
    profile: { lifetime: 'user', grace: '1h' },
    sshd: [`Port ${port}`, `Match LocalPort ${port}`, `  ForceCommand ${peer}`].join('\n'),
  });
  const fresh = await startPodHost(site, {
    ...{ mode: 'forced', users: { [freshUser]: [] }, profile: { lifetime: 'connection' } },
  });
  const alone = await SshHost.start({
    ...{ mode: 'plain', users: { [user]: [] }, images: false },
    sshd: `Match User ${user}\n  ForceCommand ${peer}`,
  });
  await measure(command(warm.host, user, warm.host.port, ['true']));
  for (const host of [warm.host, alone]) await makePeer(site, host, peer);
  const hosts: readonly (PodHost | SshHost)[] = [warm, fresh, alone];
  return {
    ...{ site, image, host: warm.host, freshNamespace: `u-${freshUser}` },
    uid: warm.host.account(user).uid,
    berth: (...remote) => command(warm.host, user, warm.host.port, remote),
    kubectl: (...remote) => command(warm.host, user, port, remote),
    kubectlAlone: (...remote) => command(alone, user, alone.port, remote),
    fresh: (...remote) => command(fresh.host, freshUser, fresh.host.port, remote),
    stop: async () => {
      for (const host of hosts) await host.stop();
      await removePods();
    },
  };
}

/** OpenSSH's client, as a process to measure. */
function command(host: SshHost, name: string, port: number, words: readonly string[]): Command {
  const known = ['-o', `HostKeyAlias=[127.0.0.1]:${host.port}`];
  return {
    file: '/usr/bin/ssh',
    args: [
      ...host.clientOptions(name),
      ...known,
      '-p',
      String(port),
      `${name}@127.0.0.1`,
      ...words,
    ],
    env: { PATH: '/usr/bin:/bin', HOME: '/root' },
  };
}

/** The forced command of a site without Berth, with a credential that is already there. */
async function makePeer(site: Site, host: SshHost, path: string): Promise<void> {
  const { home, uid, gid } = host.account(user);
  const said = async (...args: string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await site.kubectl(['-n', namespace, ...args]);
    if (exitCode !== 0) throw new Error(stderr);
    return stdout.trim();
  };
  const token = await said('create', 'token', 'berth-session', '--duration=2h');
  const pod = await said('get', 'pods', '-l', 'berth.dev/profile=base', '-o', 'name');
  const config = join(host.directory, 'kubeconfig');
  await writeKubeconfig(config, {
    server: site.server,
    ca: site.ca.file,
    credential: { token },
  });
  const owner = ['-o', String(uid), '-g', String(gid), '-m', '0600'];
  await host.asRoot(['install', ...owner, config, `${home}/.kubeconfig`]);
  const words = `exec -i -n ${namespace} ${pod} -- /bin/bash -c "$SSH_ORIGINAL_COMMAND"`;
  const script = `#!/bin/sh\nexec ${site.kubectlPath} --kubeconfig ${home}/.kubeconfig ${words}\n`;
  const file = join(host.directory, 'kubectl-exec');
  await writeFile(file, script);
  await chmod(file, 0o755);
  await host.asRoot(['cp', '--preserve=mode', file, path]);
}
