import { BerthError } from '../errors.ts';

/** For a command line that names a cluster which is not configured. */
export function unknownCluster(name: string, known: readonly string[]): BerthError {
  return new BerthError(`there is no cluster ${name}; there are: ${known.join(', ') || 'none'}`, {
    code: 'cluster-unknown',
    hint: 'The name of a cluster is the name of its file in clusters.d without .yml; its v2.job.adapter must be kubernetes.',
  });
}
