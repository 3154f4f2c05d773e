import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import type { CertificateAuthority } from '../../certificates.ts';
import { writeKubeconfig } from '../../kubernetes/kubeconfig.ts';
import type { Start } from '../../processes.ts';
import type { Site } from '../../site.ts';
import { waitFor } from '../../wait.ts';
import { cniFolders } from '../containerd-paths.ts';
import { entering } from '../namespaces.ts';
import type { CiliumBinaries } from './build.ts';

/** Addresses of pods that Cilium connects; those of the bridge have others. */
const podCidr = '10.245.0.0/24';

/** The agent's health, in the node's network. */
const health = 'http://127.0.0.1:9879/healthz';

export interface CiliumOptions {
  readonly folder: string;
  readonly init: number;
  readonly binaries: CiliumBinaries;
  readonly ca: CertificateAuthority;
  readonly node: string;
  /** URL of the API server, as the node reaches it. */
  readonly server: string;
}

/** Tells the cluster of Cilium's kinds and of the pods' addresses, which the agent waits for. */
export async function prepareCluster(site: Site, node: string, sources: string): Promise<void> {
  const crds = join(sources, 'pkg/k8s/apis/cilium.io/client/crds');
  const folders = ['v2', 'v2alpha1'].flatMap((version) => ['-f', join(crds, version)]);
  const spec = JSON.stringify({ spec: { podCIDR: podCidr, podCIDRs: [podCidr] } });
  for (const args of [
    ['apply', '--server-side', ...folders],
    ['wait', '--for=condition=Established', '--timeout=30s', ...folders],
    ['patch', 'node', node, '-p', spec],
  ]) {
    const { exitCode, stderr } = await site.kubectl(args);
    if (exitCode !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  }
}

/** Writes what the agent reads and tells how it is started: alone, without operator and Envoy. */
export async function agentStart(options: CiliumOptions): Promise<Start> {
  const own = join(options.folder, 'cilium');
  const [lib, bin] = [join(own, 'lib'), join(own, 'bin')];
  await mkdir(bin, { recursive: true });
  // The agent writes beside the sources of its BPF programs, and compiles them with what it finds first.
  await rm(lib, { recursive: true, force: true });
  await cp(join(options.binaries.sources, 'bpf'), join(lib, 'bpf'), { recursive: true });
  await execa('chmod', ['--recursive', 'u+w', lib]);
  for (const tool of ['clang', 'llc']) await linked(join(bin, tool), `/usr/bin/${tool}-14`);
  const kubeconfig = join(own, 'kubeconfig');
  await writeKubeconfig(kubeconfig, {
    server: options.server,
    ca: options.ca.cert,
    tlsServerName: 'localhost',
    // In the nodes' group too, so that the audit log leaves its requests out.
    credential: {
      certificate: await options.ca.client('cilium-agent', ['system:masters', 'system:nodes']),
    },
  });
  return {
    name: 'cilium-agent',
    command: 'nsenter',
    args: entering(options.init, [options.binaries.agent, ...flags(lib, kubeconfig)]),
    env: {
      PATH: `${bin}:/usr/sbin:/usr/bin:/sbin:/bin`,
      K8S_NODE_NAME: options.node,
      CILIUM_K8S_NAMESPACE: 'kube-system',
    },
    folder: options.folder,
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
    'ipv4-native-routing-cidr': podCidr,
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

export async function agentAnswers(init: number, alive: () => Promise<void>): Promise<void> {
  await waitFor({ what: "Cilium's agent to be healthy", timeoutMs: 120_000, alive }, async () => {
    const ask = ['curl', '--silent', '--fail', '--header', 'brief: true', health];
    await execa('nsenter', entering(init, ask));
    return true;
  });
}

/** Pods that begin after containerd's next start are connected by Cilium. */
export async function connectByCilium(folder: string, { cni }: CiliumBinaries): Promise<void> {
  const { bin, conf } = cniFolders(folder);
  await linked(join(bin, 'cilium-cni'), cni);
  const list = { cniVersion: '0.3.1', name: 'cilium', plugins: [{ type: 'cilium-cni' }] };
  await writeFile(join(conf, conflist), JSON.stringify(list));
}

/** The bridge connects pods that begin after containerd's next start. */
export async function connectByBridge(folder: string): Promise<void> {
  await rm(join(cniFolders(folder).conf, conflist), { force: true });
}

/** It sorts before the bridge's: containerd takes the first. */
const conflist = '05-cilium.conflist';

async function linked(path: string, target: string): Promise<void> {
  await rm(path, { force: true });
  await symlink(target, path);
}
