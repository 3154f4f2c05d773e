import { join } from 'node:path';
import { BerthError } from '../errors.ts';
import { readPrivateFile, writePrivateFile } from '../system/private-file.ts';

/**
 * Clusters that a login found away while others were there: name, and when, in epoch seconds. A hint
 * only, like the record of a login: losing it costs the next login the time that they cost this one.
 */
export type SilentClusters = ReadonlyMap<string, number>;

/** What a login saw of the clusters that it asked. */
export interface SeenClusters {
  /** All that are configured. */
  readonly configured: readonly string[];
  /** Those with which a TLS connection came about. */
  readonly reached: ReadonlySet<string>;
  /** What went wrong, by cluster. */
  readonly errors: ReadonlyMap<string, Pick<BerthError, 'code'>>;
}

/** How long logins leave a cluster alone, in seconds. */
const skipSeconds = 30;

/** Without a connection, `api-deadline` is a server that accepts and says nothing. */
const awayCodes: ReadonlySet<string> = new Set(['api-unreachable', 'api-deadline']);

/** More of them in one line helps nobody. */
const namedAtMost = 20;

const largestFile = 256 * 1024;

/**
 * The clusters that this login does not ask. Never all of them: then nobody would notice that they
 * are back, and a site with one cluster has nothing to gain.
 */
export function clustersToSkip(
  silent: SilentClusters,
  configured: readonly string[],
  now: number,
): ReadonlySet<string> {
  const skipped = configured.filter((name) => isRecent(silent.get(name), now));
  return new Set(skipped.length < configured.length ? skipped : []);
}

/**
 * The clusters whose time is over: this login asks them. Those that begin meanwhile go on without, see
 * `claimSilentClusters`.
 */
export function clustersDue(
  silent: SilentClusters,
  configured: readonly string[],
  now: number,
): readonly string[] {
  return configured.filter((name) => silent.has(name) && !isRecent(silent.get(name), now));
}

/**
 * What is known after a login. Where nobody was reached, it is this host that is cut off, and that
 * says nothing about the clusters.
 */
export function silentAfter(
  before: SilentClusters,
  { configured, reached, errors }: SeenClusters,
  now: number,
): SilentClusters {
  const after = configured.flatMap((name): [string, number][] => {
    if (reached.has(name)) return [];
    const error = errors.get(name);
    if (error !== undefined)
      return awayCodes.has(error.code) && reached.size > 0 ? [[name, now]] : [];
    // It was not asked.
    const since = before.get(name);
    return since !== undefined && isRecent(since, now) ? [[name, since]] : [];
  });
  return new Map(after);
}

/** A time to come is a clock that was set back, and counts for nothing. */
function isRecent(since: number | undefined, now: number): boolean {
  return since !== undefined && since <= now && now - since < skipSeconds;
}

/** One error for all of them: a hundred lines would hide the one that matters. */
export function clustersSkipped(names: readonly string[]): BerthError {
  const more = names.length - namedAtMost;
  const list = [...names.slice(0, namedAtMost), ...(more > 0 ? [`and ${more} more`] : [])];
  const count = names.length === 1 ? '1 cluster' : `${names.length} clusters`;
  return new BerthError(
    `${count} not asked: a login less than ${skipSeconds} s ago reached others, but not ${names.length === 1 ? 'this one' : 'these'}`,
    {
      code: 'cluster-skipped',
      exit: 'temporary',
      hint: `See that login's lines for what keeps them away; \`berth doctor\` asks them now, and a login after ${skipSeconds} s does.`,
      fields: { clusters: list.join(', ') },
    },
  );
}

/** None where there is no file, or none that root alone wrote. */
export function readSilentClusters(stateDir: string): SilentClusters {
  try {
    const text = readPrivateFile(pathOf(stateDir), 0, largestFile);
    const value = JSON.parse(text ?? '{}') as Readonly<Record<string, unknown>>;
    return new Map(
      Object.entries(value).flatMap(([name, since]): [string, number][] =>
        typeof since === 'number' ? [[name, since]] : [],
      ),
    );
  } catch {
    // Half a file of a power cut, or one that somebody else owns: then every cluster is asked.
    return new Map();
  }
}

/**
 * Counts these clusters as away once more before they are asked: one that accepts and says nothing
 * then costs this login the deadline, and not every one that begins in that time.
 *
 * @throws what `writePrivateFile` throws
 */
export function claimSilentClusters(
  stateDir: string,
  silent: SilentClusters,
  due: readonly string[],
  now: number,
): void {
  write(stateDir, new Map([...silent, ...due.map((name): [string, number] => [name, now])]));
}

/**
 * Brings the file up to date with what a login saw.
 *
 * @throws what `writePrivateFile` throws
 */
export function rememberSilentClusters(stateDir: string, seen: SeenClusters, now: number): void {
  // Read again: a login with a silent cluster takes the whole deadline, and others ended meanwhile.
  const before = readSilentClusters(stateDir);
  const after = silentAfter(before, seen, now);
  if (same(before, after)) return;
  write(stateDir, after);
}

function same(one: SilentClusters, other: SilentClusters): boolean {
  return one.size === other.size && [...one].every(([name, at]) => other.get(name) === at);
}

function write(stateDir: string, silent: SilentClusters): void {
  writePrivateFile(pathOf(stateDir), JSON.stringify(Object.fromEntries(silent)));
}

function pathOf(stateDir: string): string {
  return join(stateDir, 'silent-clusters.json');
}
