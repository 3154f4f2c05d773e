import { join } from 'node:path';
import { moduleSources } from '../go-build.ts';

const module = new URL('.', import.meta.url).pathname;

/** Cluster API's own CRDs of Clusters and of kubeadm's control planes, without its controllers and conversion webhooks. */
export async function clusterApiCrds(): Promise<readonly string[]> {
  const sources = await moduleSources(module, 'sigs.k8s.io/cluster-api');
  return [
    'core/config/crd/bases/cluster.x-k8s.io_clusters.yaml',
    'controlplane/kubeadm/config/crd/bases/controlplane.cluster.x-k8s.io_kubeadmcontrolplanes.yaml',
  ].map((file) => join(sources, file));
}
