import { familyText, labelText, sampleName } from './text/prometheus-text.ts';
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

/** The samples of a family that `writeMetrics` has written, by cluster. */
export function clusterSamples(text: string, family: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, name, cluster, value] = /^(\w+)\{cluster="([^"]*)"\} (\d+)$/.exec(line) ?? [];
    if (name === family && cluster !== undefined) samples.set(cluster, Number(value));
  }
  return samples;
}

function samplesOf({ name, value }: Metric): string[] {
  if (typeof value === 'number') return [`${name} ${value}`];
  return [...value].map(
    ([cluster, one]) => `${sampleName(name, labelText('cluster', cluster))} ${one}`,
  );
}
