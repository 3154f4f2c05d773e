import { rm, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ManagementAccess } from '../config/settings.ts';
import { withBerthKeys } from '../config/berth-yml-edit.ts';
import { BerthError } from '../errors.ts';
import { writeAtomically } from '../system/atomic-file.ts';
import { directoryNames } from '../system/directory-names.ts';
import { takeLock } from '../system/file-lock.ts';
import { readIfPresent } from '../system/read-if-present.ts';
import { ensureRootDirectory } from '../system/safe-directories.ts';
import { readManagement } from './read-management.ts';
import {
  clusterFileText,
  clusterKeys,
  type DiscoveredCluster,
  madeFrom,
} from './rules/cluster-files.ts';

export interface DiscoverInput {
  readonly management: ManagementAccess;
  /** Only Clusters in this namespace. */
  readonly namespace?: string;
  /** Path of berth.yml. */
  readonly config: string;
  /** OnDemand's clusters.d. */
  readonly clustersDir: string;
  /** Directory for the CAs of the clusters, which users' kubectl reads. */
  readonly caDir: string;
  readonly dryRun: boolean;
  /** Remove the files of all clusters if no Cluster is left. */
  readonly allowNone: boolean;
  readonly deadline: AbortSignal;
}

/** What happened to a cluster's part of the configuration, or would. */
export interface DiscoveredChange {
  /** OnDemand's name. */
  readonly name: string;
  /** `NAMESPACE/NAME` of the Cluster. */
  readonly cluster: string;
  readonly change: 'new' | 'changed' | 'unchanged' | 'removed' | 'skipped';
  /** Why it was skipped. */
  readonly reason?: string;
  readonly endpoint?: string;
  /** How users authenticate there. */
  readonly credentials?: 'oidc' | 'service-account';
  /** Files that were written or removed. */
  readonly files: readonly string[];
}

/**
 * Writes OnDemand's clusters.d, the CAs and Berth's part for the Clusters of a management cluster, and removes what it made
 * for Clusters that are gone. Each file is replaced atomically, in an order in which OnDemand sees complete clusters only.
 *
 * @throws {BerthError} `clusters-all-gone`, `lock-timeout`, `directory-unsafe`, those of `readManagement` and `writeAtomically`
 */
export async function discoverClusters(input: DiscoverInput): Promise<DiscoveredChange[]> {
  const managed = await readManagement(input.management, input);
  if (input.dryRun) return await reconcileFiles(input, managed);
  for (const directory of [input.caDir, dirname(input.config)]) ensureRootDirectory(directory);
  const lock = await takeLock(join(dirname(input.config), '.discover.lock'), {
    waitMs: 20_000,
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
  { found, skipped }: Awaited<ReturnType<typeof readManagement>>,
): Promise<DiscoveredChange[]> {
  const made = await madeFiles(input);
  const present = new Set(found.map(({ name }) => name));
  const gone = made
    .filter(({ name }) => !present.has(name))
    .filter(
      ({ cluster }) =>
        !skipped.some((one) => pathOf(one.cluster) === cluster && !one.cluster.deleting),
    );
  if (gone.length > 0 && gone.length === made.length && found.length === 0 && !input.allowNone)
    throw new BerthError(
      `the management cluster has none of the Clusters ${gone.map(({ cluster }) => cluster).join(', ')} any more`,
      {
        code: 'clusters-all-gone',
        hint: 'If they were moved to another management cluster, give its kubeconfig. If they were deleted, remove their files with --allow-none. Nothing was changed.',
      },
    );
  const changes: DiscoveredChange[] = [];
  for (const cluster of found) changes.push(await writeCluster(cluster, input));
  for (const one of gone) changes.push(await removeCluster(one, input));
  const left = skipped.map(({ cluster, reason }) => ({
    ...{ name: cluster.name, cluster: pathOf(cluster), reason },
    ...{ change: 'skipped' as const, files: [] },
  }));
  return [
    ...changes,
    ...left.filter(({ cluster }) => !changes.some((one) => one.cluster === cluster)),
  ];
}

interface MadeFile {
  readonly name: string;
  readonly cluster: string;
}

/** Files of clusters.d that an earlier run made, in the same namespace. */
async function madeFiles({ clustersDir, namespace }: DiscoverInput): Promise<MadeFile[]> {
  const made: MadeFile[] = [];
  for (const file of directoryNames(clustersDir)) {
    const [, name] = /^([^.].*)\.yml$/.exec(file) ?? [];
    if (name === undefined) continue;
    const from = madeFrom((await readIfPresent(join(clustersDir, file))) ?? '');
    if (from !== undefined && (namespace === undefined || namespace === from.namespace))
      made.push({ name, cluster: pathOf(from) });
  }
  return made;
}

function pathOf({
  namespace,
  name,
}: {
  readonly namespace: string;
  readonly name: string;
}): string {
  return `${namespace}/${name}`;
}

async function writeCluster(
  found: DiscoveredCluster,
  input: DiscoverInput,
): Promise<DiscoveredChange> {
  const { name, endpoint, oidc } = found;
  const cluster = pathOf(found.cluster);
  const common = { name, cluster, endpoint } as const;
  const file = join(input.clustersDir, `${name}.yml`);
  const caFile = join(input.caDir, `${name}.pem`);
  const before = await readIfPresent(file);
  const from = before === undefined ? undefined : madeFrom(before);
  if (before !== undefined && (from === undefined || pathOf(from) !== cluster)) {
    const reason = `${file} is there already, and was not made for it`;
    return { ...common, change: 'skipped', reason, files: [] };
  }
  const berth = (await readIfPresent(input.config)) ?? '';
  const wanted = [
    { path: caFile, text: found.ca.endsWith('\n') ? found.ca : `${found.ca}\n` },
    { path: input.config, text: withBerthKeys(berth, clusterKeys(found, input.management)) },
    { path: file, text: clusterFileText(found, caFile, before) },
  ];
  const files: string[] = [];
  for (const { path, text } of wanted) {
    if ((await readIfPresent(path)) === text) continue;
    if (!input.dryRun) await writeAtomically(path, text, { mode: 0o644 });
    files.push(path);
  }
  const change = before === undefined ? 'new' : files.length > 0 ? 'changed' : 'unchanged';
  const credentials = oidc === undefined ? 'service-account' : 'oidc';
  return { ...common, change, credentials, files };
}

/** OnDemand's file first: it then knows no cluster without the rest. */
async function removeCluster(
  { name, cluster }: MadeFile,
  input: DiscoverInput,
): Promise<DiscoveredChange> {
  const berth = (await readIfPresent(input.config)) ?? '';
  const text = withBerthKeys(berth, [[['clusters', name], undefined]]);
  const paths = [join(input.clustersDir, `${name}.yml`), join(input.caDir, `${name}.pem`)];
  const [file = '', caFile = ''] = paths;
  if (!input.dryRun) {
    if (text !== berth) await writeAtomically(input.config, text, { mode: 0o644 });
    await rm(caFile, { force: true });
    // The last one: by it a later run knows what is left to do, if this one is killed.
    await unlink(file);
  }
  return { name, cluster, change: 'removed', files: [file, input.config, caFile] };
}
