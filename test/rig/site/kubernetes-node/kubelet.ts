import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { CertificateAuthority } from '../certificates.ts';
import { writeKubeconfig } from '../kubernetes/kubeconfig.ts';
import type { ProcessStart } from '../processes.ts';
import { createCgroups, nodeCgroup } from './cgroups.ts';
import { containerdSocket } from './containerd-paths.ts';
import { nsenterArgs } from './namespaces.ts';

export interface KubeletOptions {
  readonly directory: string;
  readonly init: number;
  /** The binary with kubelet. */
  readonly binary: string;
  readonly ca: CertificateAuthority;
  readonly name: string;
  readonly address: string;
  /** URL by which the node reaches the API server. */
  readonly server: string;
}

/** Writes kubelet's configuration and certificates. @returns how to start kubelet */
export async function prepareKubelet(options: KubeletOptions): Promise<ProcessStart> {
  const { directory, ca, name, address } = options;
  const own = join(directory, 'kubelet.d');
  await mkdir(own, { recursive: true });
  const kubeconfig = join(own, 'kubeconfig');
  await writeKubeconfig(kubeconfig, {
    server: options.server,
    ca: ca.cert,
    tlsServerName: 'localhost',
    credential: { certificate: await ca.client(`system:node:${name}`, ['system:nodes']) },
  });
  const serving = await ca.server(`kubelet-${name}`, [address]);
  // Pods have no name server.
  const resolv = join(own, 'resolv.conf');
  await writeFile(resolv, '');
  const config = join(own, 'config.yaml');
  await writeFile(
    config,
    stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      address,
      authentication: {
        x509: { clientCAFile: ca.cert },
        webhook: { enabled: true },
        anonymous: { enabled: false },
      },
      authorization: { mode: 'Webhook' },
      tlsCertFile: serving.cert,
      tlsPrivateKeyFile: serving.key,
      // No name server listens there, so queries fail at once. Without the setting, each pod gets a warning event.
      clusterDNS: [address],
      containerRuntimeEndpoint: `unix://${containerdSocket}`,
      resolvConf: resolv,
      failCgroupV1: false,
      cgroupDriver: 'cgroupfs',
      cgroupRoot: nodeCgroup,
      enforceNodeAllocatable: [],
      failSwapOn: false,
      oomScoreAdj: 0,
      maxPods: 250,
      registryPullQPS: 0,
      // A nearly full disk must not evict pods, and imported images must not be garbage-collected.
      evictionHard: {
        'nodefs.available': '1%',
        'imagefs.available': '1%',
        'memory.available': '100Mi',
      },
      imageGCHighThresholdPercent: 100,
    }),
  );
  await createCgroups();
  return {
    name: 'kubelet',
    command: 'nsenter',
    args: nsenterArgs(options.init, [
      options.binary,
      'kubelet',
      ...['--config', config, '--kubeconfig', kubeconfig],
      ...['--hostname-override', name, '--node-ip', address],
    ]),
    directory,
  };
}
