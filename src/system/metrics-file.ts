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
  const text = metrics.map(familyText).join('');
  await writeAtomically(file, text, { mode: 0o644, replaceable: true });
}

/** The line of a sample up to its value, as `writeMetrics` writes it. */
export function sampleName(name: string, cluster: string): string {
  return `${name}{cluster="${cluster.replace(/["\\\n]/g, '_')}"}`;
}

/** Prometheus text format, version 0.0.4. */
function familyText({ name, type, help, value }: Metric): string {
  const samples =
    typeof value === 'number'
      ? [`${name} ${value}`]
      : [...value].map(([cluster, one]) => `${sampleName(name, cluster)} ${one}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples, ''].join('\n');
}
