import type { ClusterSettings } from '../../config/schema/settings.ts';
import { asBerthError, BerthError } from '../../system/errors/berth-error.ts';
import type { Deadline } from '../../system/deadline.ts';

export interface ClusterOutcome<Result> {
  readonly cluster: ClusterSettings;
  readonly result?: Result;
  readonly error?: BerthError;
  /** Milliseconds. */
  readonly took: number;
}

/**
 * Runs the work for all clusters in parallel. A cluster that is unreachable, slow or wrongly configured
 * has an outcome with its error and does not affect the others. Each outcome settles at the deadline at
 * the latest, even if the work hangs in a file system and cannot be stopped.
 */
export function forEachCluster<Result>(
  clusters: readonly ClusterSettings[],
  deadline: Deadline,
  work: (cluster: ClusterSettings) => Promise<Result>,
): Promise<ClusterOutcome<Result>>[] {
  return clusters.map((cluster) => clusterOutcome(cluster, deadline, work));
}

/** The same for one cluster. */
export async function clusterOutcome<Result>(
  cluster: ClusterSettings,
  deadline: Deadline,
  work: (cluster: ClusterSettings) => Promise<Result>,
): Promise<ClusterOutcome<Result>> {
  const started = performance.now();
  const took = (): number => Math.round(performance.now() - started);
  try {
    return { cluster, result: await beforeDeadline(work(cluster), deadline), took: took() };
  } catch (thrown) {
    return { cluster, error: asBerthError(thrown, `cluster ${cluster.name}`), took: took() };
  }
}

/** The work's result, or the error `deadline-exceeded`; the work itself may continue in the background. */
export function beforeDeadline<Result>(
  work: Promise<Result>,
  deadline: Pick<Deadline, 'signal'>,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const over = (): void => {
      // Work that receives the same signal fails first, and its error has more details.
      setImmediate(() =>
        setImmediate(() =>
          reject(
            new BerthError(
              'deadline-exceeded',
              'the time limit (deadline) was reached before the work was done',
            ),
          ),
        ),
      );
    };
    if (deadline.signal.aborted) over();
    else deadline.signal.addEventListener('abort', over, { once: true });
    work.then(resolve, reject).finally(() => deadline.signal.removeEventListener('abort', over));
  });
}
