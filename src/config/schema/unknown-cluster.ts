import { BerthError } from '../../errors/berth-error.ts';

/** For a command line that names a cluster which is not configured. */
export function unknownCluster(name: string, known: readonly string[]): BerthError {
  return new BerthError(`unknown cluster ${name}; configured: ${known.join(', ') || 'none'}`, {
    code: 'cluster-unknown',
    hint: 'A cluster is named after its file in clusters.d, without .yml or .yaml; the file needs v2.job.adapter: kubernetes.',
  });
}
