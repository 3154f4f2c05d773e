import { familyText, labelText, sampleName } from '../prometheus-text.ts';
import { writeAtomically } from './atomic-file.ts';

/** A metric family. Its samples have a label, or it is a single value. */
export interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  /** One value, or one per value of the label `cluster`. */
  readonly value: number | ReadonlyMap<string, number>;
}

/**
 * Writes metrics for node_exporter's textfile collector: atomically, and readable by all.
 *
 * @throws {BerthError} as `writeAtomically`
 */
export async function writeMetrics(file: string, metrics: readonly Metric[]): Promise<void> {
  const text = metrics.map((metric) => familyText(metric, samplesOf(metric))).join('');
  await writeAtomically(file, text, { mode: 0o644, replaceable: true });
}

/** The line of a cluster's sample up to its value, as `writeMetrics` writes it. */
export function clusterSampleName(name: string, cluster: string): string {
  return sampleName(name, labelText('cluster', cluster));
}

function samplesOf({ name, value }: Metric): string[] {
  if (typeof value === 'number') return [`${name} ${value}`];
  return [...value].map(([cluster, one]) => `${clusterSampleName(name, cluster)} ${one}`);
}
