import { join } from 'node:path';
import { writeKubeconfig } from '../../site/kubernetes/kubeconfig.ts';
import { podCidr } from '../../site/kubernetes-node/containerd.ts';
import type { TestNode } from '../../site/kubernetes-node/node.ts';
import type { Site } from '../../site/site.ts';
import { waitFor } from '../../wait-for.ts';
import { Daemon } from '../daemon.ts';
import { kubeProxyBinary } from './build.ts';

/** A node, as far as kube-proxy needs it. */
type ProxiedNode = Pick<TestNode, 'machineAddress' | 'enter' | 'inside'> & {
  readonly name: string;
};

/** Starts kube-proxy on a node, which otherwise has only the Service `kubernetes`. */
export async function startKubeProxy(
  site: Site,
  node: ProxiedNode,
  directory: string,
): Promise<{ stop(): Promise<void> }> {
  const binary = await kubeProxyBinary();
  const kubeconfig = join(directory, `kube-proxy-${node.name}.kubeconfig`);
  await writeKubeconfig(kubeconfig, {
    server: `https://${node.machineAddress}:${new URL(site.server).port}`,
    ca: site.ca.file,
    tlsServerName: 'localhost',
    credential: { certificate: await site.certificates.client('system:kube-proxy') },
  });
  const values = {
    kubeconfig,
    'hostname-override': node.name,
    'proxy-mode': 'iptables',
    'cluster-cidr': podCidr,
    // The kernel's limits and time limits are the machine's.
    'conntrack-max-per-core': 0,
    'conntrack-tcp-timeout-established': '0s',
    'conntrack-tcp-timeout-close-wait': '0s',
  };
  const flags = Object.entries(values).map(([name, value]) => `--${name}=${value}`);
  const log = join(directory, `kube-proxy-${node.name}.log`);
  const daemon = await Daemon.start(node.enter, [binary, ...flags], log);
  const waiting = { what: 'kube-proxy to be healthy', timeoutMs: 60_000 };
  await waitFor({ ...waiting, alive: () => daemon.assertRunning() }, () =>
    node.inside(['curl', '--fail', '--silent', 'http://127.0.0.1:10256/healthz']),
  );
  return {
    stop: async () => {
      await daemon.stop();
      await node.inside([binary, '--cleanup']);
    },
  };
}
