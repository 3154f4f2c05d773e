import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { serviceAddress } from '../../site/kubernetes/control-plane.ts';
import type { TestNode } from '../../site/kubernetes-node/node.ts';
import type { LiveCluster } from '../../site/live-cluster.ts';
import type { Site } from '../../site/site.ts';
import { ensureProgramImage } from '../program-image.ts';
import { metallbBinaries } from './build.ts';

const namespace = 'metallb-system';

interface Manifest {
  readonly kind: string;
  readonly spec?: {
    readonly template?: { readonly spec: { readonly containers: readonly Container[] } };
  };
}

interface Container {
  image: string;
  args: string[];
}

/**
 * Runs MetalLB as its own manifest does, with images of binaries that are built here. Its webhooks, which check
 * MetalLB's objects, are left out: the API server listens on loopback and cannot reach pods.
 */
export async function startMetallb(
  site: Site,
  cluster: LiveCluster,
  node: TestNode,
): Promise<{ stop(): Promise<void> }> {
  const { sources, ...programs } = await metallbBinaries();
  const text = await readFile(join(sources, 'config/manifests/metallb-native.yaml'), 'utf8');
  const objects = parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest)
    .filter(({ kind }) => kind !== 'ValidatingWebhookConfiguration');
  for (const { kind, spec } of objects)
    for (const container of spec?.template?.spec.containers ?? []) {
      const name = kind === 'DaemonSet' ? 'speaker' : 'controller';
      await ensureProgramImage(node, {
        ...{ image: container.image, program: programs[name], path: `/${name}` },
      });
      if (name === 'controller') container.args.push('--webhook-mode=disabled');
    }
  const manifests = objects.map((object) => stringify(object)).join('---\n');
  const toApiServer = [
    ...['OUTPUT', '--destination', serviceAddress, '--protocol', 'tcp', '--dport', '443'],
    ...['--jump', 'DNAT', '--to-destination'],
    `${node.machineAddress}:${new URL(site.server).port}`,
  ];
  // Pods in the node's network, as the speaker, reach the API server this way; pod-network.ts does it for others.
  await node.inside(['iptables', '--wait', '--table', 'nat', '--append', ...toApiServer]);
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], manifests);
  for (const workload of ['deployment/controller', 'daemonset/speaker'])
    await cluster.kubectl(['rollout', 'status', workload, '-n', namespace, '--timeout=50s']);
  return {
    stop: async () => {
      await cluster.kubectl(['delete', '--ignore-not-found', '--wait', '-f', '-'], manifests);
      await node.inside(['iptables', '--wait', '--table', 'nat', '--delete', ...toApiServer]);
    },
  };
}
