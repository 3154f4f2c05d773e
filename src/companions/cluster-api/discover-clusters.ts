import { dirname, join } from 'node:path';
import { BerthError } from '../../system/errors/berth-error.ts';
import { takeLock } from '../../system/file-lock.ts';
import { readIfPresent } from '../../system/trusted-text.ts';
import { ensureRootDirectory } from '../../system/safe-directories.ts';
import type { DiscoveredChange } from './documents.ts';
import {
  type MadeFile,
  presentFiles,
  type PresentFiles,
  removeCluster,
  type Targets,
  writeCluster,
} from './write-cluster.ts';
import { type ManagedClusters, readManagement, type SkippedCluster } from './read-management.ts';
import { knownAudiences } from './rules/cluster-files.ts';
import { clusterNames, pathOf } from './rules/cluster-names.ts';
import { sharedAudiences } from './rules/shared-audiences.ts';
import { problemOfCluster, type UsableCluster } from './rules/usable-cluster.ts';

export interface DiscoverInput extends Targets {
  /** Only Clusters in this namespace. */
  readonly namespace?: string;
  /** The identity providers whose tokens a cluster may get. */
  readonly issuers: readonly string[];
  /** The audience of the site's own clusters, where berth.yml has none for a cluster. */
  readonly audience?: string;
  /** Audiences that clusters of different namespaces may share. */
  readonly sharedAudiences: readonly string[];
  /** Remove the files of all clusters if no Cluster is left. */
  readonly allowNone: boolean;
  readonly deadline: AbortSignal;
}

/**
 * Writes OnDemand's clusters.d, the CAs and Berth's part for the Clusters of a management cluster, and removes what it made
 * for Clusters that are gone. Each file is replaced atomically, in an order in which OnDemand sees complete clusters only.
 *
 * @throws {BerthError} `clusters-all-gone`, `lock-timeout`, `directory-unsafe`, those of `readManagement` and `writeAtomically`
 */
export async function discoverClusters(input: DiscoverInput): Promise<DiscoveredChange[]> {
  const managed = withoutUnusable(await readManagement(input.management, input), input.issuers);
  if (input.dryRun) return await reconcileFiles(input, managed);
  for (const directory of [input.caDir, input.clustersDir, dirname(input.config)])
    ensureRootDirectory(directory);
  const lock = await takeLock(join(dirname(input.config), '.discover.lock'), {
    timeoutMs: 20_000,
    foreignStaleMs: 120_000,
  });
  try {
    return await reconcileFiles(input, managed);
  } finally {
    await lock?.release();
  }
}

async function reconcileFiles(
  input: DiscoverInput,
  managed: ManagedClusters,
): Promise<DiscoveredChange[]> {
  const { held, made, ownWithOidc } = presentFiles(input.clustersDir);
  const gone = goneFiles(made, managed, input);
  const { found, skipped } = withoutSharedAudiences(managed, input, {
    berth: readIfPresent(input.config) ?? '',
    ownWithOidc,
    held: new Map([...held].filter(([name]) => gone.every((one) => one.name !== name))),
  });
  const names = clusterNames(
    found.map(({ cluster }) => cluster),
    held,
  );
  const changes: DiscoveredChange[] = [];
  for (const one of found) {
    const { name = '', problem } = names.get(one.cluster) ?? {};
    if (problem === undefined) changes.push(await writeCluster({ ...one, name }, input));
    else changes.push(skip(name, { cluster: one.cluster, reason: problem, failed: true }));
  }
  for (const one of gone) changes.push(await removeCluster(one, input));
  const removed = new Set(gone.map(({ cluster }) => cluster));
  for (const one of skipped) {
    const path = pathOf(one.cluster);
    const own = made.find(({ cluster }) => cluster === path);
    if (!removed.has(path)) changes.push(skip(own?.name ?? one.cluster.name, one));
  }
  return changes;
}

function skip(name: string, { cluster, ...why }: SkippedCluster): DiscoveredChange {
  return { name, cluster: pathOf(cluster), change: 'skipped', ...why, files: [] };
}

function withoutUnusable(
  { found, skipped }: ManagedClusters,
  issuers: readonly string[],
): ManagedClusters {
  return withoutProblems({ found, skipped }, (one) => problemOfCluster(one, issuers));
}

function withoutSharedAudiences(
  managed: ManagedClusters,
  { audience, sharedAudiences: allowed }: DiscoverInput,
  present: Pick<PresentFiles, 'held' | 'ownWithOidc'> & { readonly berth: string },
): ManagedClusters {
  const known = knownAudiences(present.berth, present.held, {
    names: present.ownWithOidc,
    audience,
  });
  const problems = sharedAudiences(managed.found, known, allowed);
  return withoutProblems(managed, (one) => problems.get(one));
}

function withoutProblems(
  { found, skipped }: ManagedClusters,
  problemOf: (one: UsableCluster) => string | undefined,
): ManagedClusters {
  const problems = found.flatMap((one): readonly SkippedCluster[] => {
    const reason = problemOf(one);
    return reason === undefined ? [] : [{ cluster: one.cluster, reason, failed: true }];
  });
  const unusable = new Set(problems.map(({ cluster }) => cluster));
  return {
    found: found.filter(({ cluster }) => !unusable.has(cluster)),
    skipped: [...skipped, ...problems],
  };
}

/** Files of Clusters that are gone, or are being deleted. @throws {BerthError} `clusters-all-gone` */
function goneFiles(
  allMade: readonly MadeFile[],
  { found, skipped }: ManagedClusters,
  { namespace, allowNone }: DiscoverInput,
): readonly MadeFile[] {
  const made = allMade.filter((one) => namespace === undefined || namespace === one.namespace);
  const present = new Set(
    [...found, ...skipped]
      .filter(({ cluster }) => !cluster.deleting)
      .map(({ cluster }) => pathOf(cluster)),
  );
  const gone = made.filter(({ cluster }) => !present.has(cluster));
  if (gone.length > 0 && gone.length === made.length && found.length === 0 && !allowNone)
    throw new BerthError(
      'clusters-all-gone',
      `the management cluster has none of the Clusters ${gone.map(({ cluster }) => cluster).join(', ')} any more`,
    );
  return gone;
}
