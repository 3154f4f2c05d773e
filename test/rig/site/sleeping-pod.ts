import { randomUUID } from 'node:crypto';
import type { LiveCluster } from './live-cluster.ts';
import type { KubectlResult, Site } from './site.ts';

/** A Pod object for tests of the node. */
export type SleepingPod = ReturnType<typeof sleepingPod>;

/**
 * A pod with one container that sleeps.
 *
 * @param spec overrides for the pod's spec
 * @param container overrides for the container
 */
export function sleepingPod(
  image: string,
  namespace: string,
  spec: object = {},
  container: object = {},
) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `sleeper-${randomUUID().slice(0, 8)}`, namespace },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image, command: ['sleep', '600'], ...container }],
      ...spec,
    },
  };
}

/** Creates the pod as the cluster's admin and waits until it is Ready. */
export async function createAndWait(cluster: LiveCluster, pod: SleepingPod): Promise<void> {
  const { name, namespace } = pod.metadata;
  await cluster.create(pod);
  await cluster.kubectl([
    ...['wait', '--for=condition=Ready', `pod/${name}`, '-n', namespace, '--timeout=50s'],
  ]);
}

/** Runs `kubectl exec` as the cluster's admin. */
export function execInPod(
  site: Site,
  { metadata }: SleepingPod,
  command: readonly string[],
  input = '',
): Promise<KubectlResult> {
  const { name, namespace } = metadata;
  return site.kubectl(['exec', '-i', name, '-n', namespace, '--', ...command], { input });
}
