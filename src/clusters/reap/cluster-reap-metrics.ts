import { textIfPresent } from '../../system/if-present.ts';
import { clusterSamples, writeMetrics, type Metric } from '../../system/metrics-file.ts';
import type { ReapedCluster } from './reap-cluster.ts';

const counters = {
  pods: 'Pods that were deleted because their lifetime had expired.',
  job_objects: 'Services, ConfigMaps and Secrets that were deleted with their jobs.',
  namespaces: 'Namespaces that were deleted as unused.',
  failures: 'Objects that could not be deleted.',
} as const;

/**
 * Writes metrics in the format of node_exporter's textfile collector. Counters
 * continue from the values in the file, the only state between runs.
 *
 * @param seconds Since the epoch.
 * @throws `file-system-read-only`, `disk-full` and the other errors of `writeAtomically`
 */
export async function writeClusterReapMetrics(
  file: string,
  reaped: readonly ReapedCluster[],
  seconds: number,
): Promise<void> {
  const before = textIfPresent(file);
  const totals = Object.entries(counters).map(([key, help]): Metric => {
    const name = `berth_cluster_reaped_${key}_total`;
    const former = clusterSamples(before, name);
    const value = new Map(
      reaped.map((one) => [
        one.cluster,
        (former.get(one.cluster) ?? 0) + countsOf(one)[key as keyof typeof counters],
      ]),
    );
    return { name, type: 'counter', help, value };
  });
  const last: Metric = {
    name: 'berth_cluster_reap_last_run_timestamp_seconds',
    type: 'gauge',
    help: 'Time of the last run of the reaper, in seconds since the epoch.',
    value: new Map(reaped.map(({ cluster }) => [cluster, Math.floor(seconds)])),
  };
  await writeMetrics(file, [...totals, last]);
}

function countsOf({
  pods,
  namespaces,
  failed,
}: ReapedCluster): Record<keyof typeof counters, number> {
  return {
    pods: pods.expired.length,
    job_objects: pods.objects,
    namespaces: namespaces.deleted.length,
    failures: failed.length,
  };
}
