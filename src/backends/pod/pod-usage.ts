import type { PodMetric } from '@kubernetes/client-node';
import { parseQuantityNano } from '../../config/schema/parse-quantity.ts';
import type { KubeJson } from '../../kube/objects/kube-object.ts';

/** What a pod uses now, as `kubectl top pod` shows it. */
export interface PodUsage {
  /** Processor cores. */
  readonly cpuCores: number;
  readonly memoryBytes: number;
}

/**
 * The usage in a PodMetrics object of metrics.k8s.io/v1beta1: the sum of its containers.
 *
 * @returns undefined if it is not one, or has no container yet
 */
export function podUsage(metric: unknown): PodUsage | undefined {
  const { containers } = (metric ?? {}) as Partial<KubeJson<PodMetric>>;
  if (!Array.isArray(containers) || containers.length === 0) return undefined;
  let [cpu, memory] = [0n, 0n];
  for (const one of containers as readonly Partial<KubeJson<PodMetric>['containers'][number]>[]) {
    const amounts = [parseQuantityNano(one.usage?.cpu), parseQuantityNano(one.usage?.memory)];
    const [ownCpu, ownMemory] = amounts;
    if (ownCpu === undefined || ownMemory === undefined) return undefined;
    cpu += ownCpu;
    memory += ownMemory;
  }
  return { cpuCores: Number(cpu) / 1e9, memoryBytes: Math.round(Number(memory) / 1e9) };
}
