import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { goPrograms, moduleSources, requiredVersion } from '../go-build.ts';

const module = new URL('.', import.meta.url).pathname;
const clusterApi = 'sigs.k8s.io/cluster-api';

/** Cluster API's core controller, from the cache directory or built: minutes, once. */
export async function coreController(): Promise<string> {
  const built = await goPrograms({
    name: `cluster-api-${await requiredVersion(module, clusterApi)}`,
    module,
    programs: { core: `${clusterApi}/core` },
    flags: ['-trimpath', '-ldflags', '-s -w'],
  });
  return built.core;
}

/** Cluster API's own CRDs of Clusters and of kubeadm's control planes, without its controllers and conversion webhooks. */
export async function clusterApiCrds(): Promise<readonly string[]> {
  const sources = await moduleSources(module, clusterApi);
  return [
    'core/config/crd/bases/cluster.x-k8s.io_clusters.yaml',
    'controlplane/kubeadm/config/crd/bases/controlplane.cluster.x-k8s.io_kubeadmcontrolplanes.yaml',
  ].map((file) => join(sources, file));
}

/** All CRDs that the core controller watches. */
export async function coreCrds(): Promise<readonly string[]> {
  const directory = join(await moduleSources(module, clusterApi), 'core/config/crd/bases');
  return (await readdir(directory)).map((file) => join(directory, file));
}
