import { join } from 'node:path';
import { countText } from '../system/text/count-text.ts';
import { BerthError } from '../system/errors/berth-error.ts';
import { readPrivateFile, writePrivateFile } from '../system/private-file.ts';
import { whereLogged } from '../system/syslog.ts';

/** Clusters that a hook could not reach while it reached others. */
export type ClusterBackoff = AttemptTimes;

/** What a hook learned about the clusters. */
export interface ClusterReachability {
  /** Names of all configured clusters. */
  readonly configured: readonly string[];
  /** Those with which a TLS connection was made. */
  readonly reached: ReadonlySet<string>;
  /** The error of each cluster that has one. */
  readonly errors: ReadonlyMap<string, Pick<BerthError, 'code'>>;
}

/** How long hooks skip an unreachable cluster, in seconds. */
const skipSeconds = 30;

/** `api-deadline` without a TLS connection: the server accepts and never answers. */
const unreachableCodes: ReadonlySet<string> = new Set(['api-unreachable', 'api-deadline']);

/** How many clusters one log line names. */
const maximumNames = 20;

/**
 * The clusters that this hook does not contact. Never all of them: otherwise no hook would notice that they
 * are back, and a site with one cluster would gain nothing.
 */
export function clustersToSkip(
  backoff: ClusterBackoff,
  configured: readonly string[],
  now: number,
): ReadonlySet<string> {
  const skipped = configured.filter((name) => isRecent(backoff.get(name), now, skipSeconds));
  return new Set(skipped.length < configured.length ? skipped : []);
}

/** The clusters to try again, because they have been skipped long enough. See `claimRetry`. */
export function clustersToRetry(
  backoff: ClusterBackoff,
  configured: readonly string[],
  now: number,
): readonly string[] {
  return configured.filter(
    (name) => backoff.has(name) && !isRecent(backoff.get(name), now, skipSeconds),
  );
}

/**
 * The unreachable clusters after a hook. If it reached no cluster, this host has no network, which says
 * nothing about the clusters.
 */
export function backoffAfter(
  before: ClusterBackoff,
  { configured, reached, errors }: ClusterReachability,
  now: number,
): ClusterBackoff {
  const after = configured.flatMap((name): [string, number][] => {
    if (reached.has(name)) return [];
    const error = errors.get(name);
    if (error !== undefined)
      return unreachableCodes.has(error.code) && reached.size > 0 ? [[name, now]] : [];
    // It was skipped.
    const since = before.get(name);
    return since !== undefined && isRecent(since, now, skipSeconds) ? [[name, since]] : [];
  });
  return new Map(after);
}

/** One error for all skipped clusters, so that they do not fill the log. */
export function skippedClustersError(names: readonly string[]): BerthError {
  const more = names.length - maximumNames;
  const list = [...names.slice(0, maximumNames), ...(more > 0 ? [`and ${more} more`] : [])];
  return new BerthError(
    'cluster-skipped',
    `${countText(names.length, 'cluster')} skipped: less than ${skipSeconds} s ago another login could not reach ${names.length === 1 ? 'it' : 'them'}`,
    {
      hint: skippedHint(skipSeconds),
      fields: { clusters: list.join(', ') },
    },
  );
}

/** @returns an empty map if there is no file, or an unusable one */
export function readBackoff(stateDir: string): ClusterBackoff {
  return readAttemptTimes(pathOf(stateDir));
}

/**
 * Records these clusters as unreachable again before this hook tries them. If one of them accepts and never
 * answers, then only this hook waits until its deadline, and not each one that starts meanwhile.
 *
 * @throws what `writePrivateFile` throws
 */
export function claimRetry(
  stateDir: string,
  backoff: ClusterBackoff,
  due: readonly string[],
  now: number,
): void {
  const again = due.map((name): [string, number] => [name, now]);
  writeAttemptTimes(pathOf(stateDir), new Map([...backoff, ...again]));
}

/**
 * Updates the file with what a hook learned.
 *
 * @throws what `writePrivateFile` throws
 */
export function recordBackoff(stateDir: string, seen: ClusterReachability, now: number): void {
  // Read again: other hooks ended while this one waited for a cluster.
  const before = readBackoff(stateDir);
  const after = backoffAfter(before, seen, now);
  if (before.size === after.size && [...before].every(([name, at]) => after.get(name) === at))
    return;
  writeAttemptTimes(pathOf(stateDir), after);
}

function pathOf(stateDir: string): string {
  return join(stateDir, 'silent-clusters.json');
}

/**
 * When servers were last asked in vain, by name, in seconds since the epoch. Only saves time: if it is lost, the next
 * hook waits for these servers as the last one did.
 */
type AttemptTimes = ReadonlyMap<string, number>;

const maximumBytes = 256 * 1024;

/** @returns an empty map if there is no file, or an unusable one */
export function readAttemptTimes(file: string): AttemptTimes {
  try {
    const text = readPrivateFile(file, 0, maximumBytes);
    const value = JSON.parse(text ?? '{}') as Readonly<Record<string, unknown>>;
    return new Map(
      Object.entries(value).flatMap(([name, since]): [string, number][] =>
        typeof since === 'number' ? [[name, since]] : [],
      ),
    );
  } catch {
    // Truncated by a power failure, or not owned by root: every server is asked.
    return new Map();
  }
}

/** @throws what `writePrivateFile` throws */
export function writeAttemptTimes(file: string, times: AttemptTimes): void {
  writePrivateFile(file, JSON.stringify(Object.fromEntries(times)));
}

/** Whether that was less than `seconds` ago. A time in the future is ignored: the clock was set back. */
export function isRecent(since: number | undefined, now: number, seconds: number): boolean {
  return since !== undefined && since <= now && now - since < seconds;
}

/** The next step for whoever reads that a server was skipped. */
export function skippedHint(seconds: number): string {
  return `Syslog has the reason, in the lines of the earlier login: ${whereLogged}. \`berth doctor\` checks the connection now; a login tries again after ${seconds} s.`;
}
