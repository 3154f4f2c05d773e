import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import type { CertificateAuthority } from '../../certificates.ts';
import { writeKubeconfig } from '../../kubernetes/kubeconfig.ts';
import type { ProcessStart } from '../../processes.ts';
import type { Site } from '../../site.ts';
import { waitFor } from '../../../wait-for.ts';
import { cniDirectories } from '../containerd-paths.ts';
import { nsenterArgs } from '../namespaces.ts';
import type { CiliumBinaries } from './build.ts';

/** Addresses of the pods that Cilium connects; pods on the bridge have other ones. */
export const ciliumPodCidr = '10.245.0.0/24';

/** The agent's health endpoint, in the node's network. */
const health = 'http://127.0.0.1:9879/healthz';

export interface CiliumOptions {
  readonly directory: string;
  readonly init: number;
  readonly binaries: CiliumBinaries;
  readonly ca: CertificateAuthority;
  readonly node: string;
  /** URL by which the node reaches the API server. */
  readonly server: string;
}

/** Creates Cilium's CRDs and sets the node's podCIDR; the agent waits for both. */
export async function prepareCluster(site: Site, node: string, sources: string): Promise<void> {
  const crds = join(sources, 'pkg/k8s/apis/cilium.io/client/crds');
  const directories = ['v2', 'v2alpha1'].flatMap((version) => ['-f', join(crds, version)]);
  const spec = JSON.stringify({ spec: { podCIDR: ciliumPodCidr, podCIDRs: [ciliumPodCidr] } });
  for (const args of [
    ['apply', '--server-side', ...directories],
    ['wait', '--for=condition=Established', '--timeout=30s', ...directories],
    ['patch', 'node', node, '-p', spec],
  ]) {
    const { exitCode, stderr } = await site.kubectl(args);
    if (exitCode !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  }
}

/** Writes the agent's files. @returns how to start it, without operator and Envoy */
export async function prepareAgent(options: CiliumOptions): Promise<ProcessStart> {
  const own = join(options.directory, 'cilium');
  const [lib, bin] = [join(own, 'lib'), join(own, 'bin')];
  await mkdir(bin, { recursive: true });
  // The agent writes into the directory of its BPF sources, and compiles them with the first clang in PATH.
  await rm(lib, { recursive: true, force: true });
  await cp(join(options.binaries.sources, 'bpf'), join(lib, 'bpf'), { recursive: true });
  await execa('chmod', ['--recursive', 'u+w', lib]);
  for (const tool of ['clang', 'llc']) await linked(join(bin, tool), `/usr/bin/${tool}-14`);
  const kubeconfig = join(own, 'kubeconfig');
  await writeKubeconfig(kubeconfig, {
    server: options.server,
    ca: options.ca.cert,
    tlsServerName: 'localhost',
    // Also in the group system:nodes, whose requests the audit log omits.
    credential: {
      certificate: await options.ca.client('cilium-agent', ['system:masters', 'system:nodes']),
    },
  });
  return {
    name: 'cilium-agent',
    command: 'nsenter',
    args: nsenterArgs(options.init, [options.binaries.agent, ...flags(lib, kubeconfig)]),
    env: {
      PATH: `${bin}:/usr/sbin:/usr/bin:/sbin:/bin`,
      K8S_NODE_NAME: options.node,
      CILIUM_K8S_NAMESPACE: 'kube-system',
    },
    directory: options.directory,
  };
}

function flags(lib: string, kubeconfig: string): string[] {
  const values = {
    'lib-dir': lib,
    'state-dir': '/run/cilium',
    'k8s-kubeconfig-path': kubeconfig,
    ipam: 'kubernetes',
    'enable-ipv6': false,
    'routing-mode': 'native',
    'ipv4-native-routing-cidr': ciliumPodCidr,
    'enable-ipv4-masquerade': false,
    'install-iptables-rules': true,
    devices: 'eth0',
    'kube-proxy-replacement': false,
    'enable-l7-proxy': false,
    'disable-envoy-version-check': true,
    'enable-hubble': false,
    'enable-health-checking': false,
    'enable-endpoint-health-checking': false,
    'identity-allocation-mode': 'crd',
    'cni-exclusive': false,
    'write-cni-conf-when-ready': '',
  };
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`);
}

export async function waitForAgent(init: number, alive: () => Promise<void>): Promise<void> {
  await waitFor({ what: "Cilium's agent to be healthy", timeoutMs: 120_000, alive }, async () => {
    const ask = ['curl', '--silent', '--fail', '--header', 'brief: true', health];
    await execa('nsenter', nsenterArgs(init, ask));
    return true;
  });
}

/** From containerd's next start on, Cilium connects new pods. */
export async function useCiliumCni(directory: string, { cni }: CiliumBinaries): Promise<void> {
  const { bin, conf } = cniDirectories(directory);
  await linked(join(bin, 'cilium-cni'), cni);
  const list = { cniVersion: '0.3.1', name: 'cilium', plugins: [{ type: 'cilium-cni' }] };
  await writeFile(join(conf, conflist), JSON.stringify(list));
}

/** From containerd's next start on, the bridge connects new pods. */
export async function useBridgeCni(directory: string): Promise<void> {
  await rm(join(cniDirectories(directory).conf, conflist), { force: true });
}

/** It sorts before the bridge's configuration: containerd uses the first file. */
const conflist = '05-cilium.conflist';

async function linked(path: string, target: string): Promise<void> {
  await rm(path, { force: true });
  await symlink(target, path);
}
