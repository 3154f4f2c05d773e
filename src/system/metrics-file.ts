import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { writeAtomically } from './atomic-file.ts';

/**
 * Metrics for node_exporter's textfile collector, which takes what it finds: in one step, readable by all.
 *
 * @throws `read-only`, `disk-full` and the others of `writeAtomically`
 */
export async function writeMetricsFile(file: string, text: string): Promise<void> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
  await writeAtomically(file, text, { mode: 0o644, replaceable: true });
}
