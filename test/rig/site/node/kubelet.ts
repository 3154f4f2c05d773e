import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { CertificateAuthority } from '../certificates.ts';
import { writeKubeconfig } from '../kubernetes/kubeconfig.ts';
import type { Start } from '../processes.ts';
import { makeCgroups, nodeCgroup } from './cgroups.ts';
import { containerdSocket } from './containerd-paths.ts';
import { entering } from './namespaces.ts';

export interface KubeletOptions {
  readonly folder: string;
  readonly init: number;
  /** The binary that holds kubelet. */
  readonly binary: string;
  readonly ca: CertificateAuthority;
  readonly name: string;
  readonly address: string;
  /** URL of the API server, as the node reaches it. */
  readonly server: string;
}

/** Writes kubelet's configuration and certificates, and tells how kubelet is started. */
export async function kubeletStart(options: KubeletOptions): Promise<Start> {
  const { folder, ca, name, address } = options;
  const own = join(folder, 'kubelet.d');
  await mkdir(own, { recursive: true });
  const kubeconfig = join(own, 'kubeconfig');
  await writeKubeconfig(kubeconfig, {
    server: options.server,
    ca: ca.cert,
    tlsServerName: 'localhost',
    credential: { certificate: await ca.client(`system:node:${name}`, ['system:nodes']) },
  });
  const serving = await ca.server(`kubelet-${name}`, [address]);
  // Pods have no name server: nothing of the tests' network has one.
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
      // Nobody answers there, and pods learn so at once. Without any, each pod has an event about it.
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
      // A developer's disk may be as full as it likes; images are imported, so none may be collected.
      evictionHard: {
        'nodefs.available': '1%',
        'imagefs.available': '1%',
        'memory.available': '100Mi',
      },
      imageGCHighThresholdPercent: 100,
    }),
  );
  await makeCgroups();
  return {
    name: 'kubelet',
    command: 'nsenter',
    args: entering(options.init, [
      options.binary,
      'kubelet',
      ...['--config', config, '--kubeconfig', kubeconfig],
      ...['--hostname-override', name, '--node-ip', address],
    ]),
    folder,
  };
}
