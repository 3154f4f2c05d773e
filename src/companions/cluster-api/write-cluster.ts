import { rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { withBerthKeys } from '../../config/schema/berth-keys.ts';
import type { ManagementAccess } from '../../config/schema/settings.ts';
import { ownerAndMode, writeAtomically } from '../../system/atomic-file.ts';
import { directoryNames } from '../../system/if-present.ts';
import { readIfPresent } from '../../system/trusted-text.ts';
import type { DiscoveredChange } from './documents.ts';
import {
  boundTo,
  caFileOf,
  clusterFileText,
  clusterKeys,
  type DiscoveredCluster,
  hasOidc,
  madeFrom,
} from './rules/cluster-files.ts';
import { pathOf } from './rules/cluster-names.ts';

/** Where the files are, and whether they are written. */
export interface Targets {
  readonly management: ManagementAccess;
  /** Path of berth.yml. */
  readonly config: string;
  /** OnDemand's clusters.d. */
  readonly clustersDir: string;
  /** Directory for the CAs of the clusters, which users' kubectl reads. */
  readonly caDir: string;
  readonly dryRun: boolean;
}

/**
 * Writes what belongs to a cluster. A file that was not made for it stays, and then nothing is written.
 *
 * @throws {BerthError} those of `writeAtomically`; system errors
 */
export async function writeCluster(
  found: DiscoveredCluster,
  targets: Targets,
): Promise<DiscoveredChange> {
  const { name, endpoint, oidc } = found;
  const common = { name, cluster: pathOf(found.cluster), endpoint } as const;
  const file = join(targets.clustersDir, `${name}.yml`);
  const caFile = join(targets.caDir, `${name}.pem`);
  const before = readIfPresent(file);
  const berth = readIfPresent(targets.config) ?? '';
  const bound = boundTo(berth, name);
  const isBound =
    bound?.namespace === found.cluster.namespace && bound.cluster === found.cluster.name;
  const inTheWay =
    bound !== undefined && !isBound
      ? `clusters.${name} of ${targets.config}`
      : foreignFile({ ...common, before, file, caFile });
  if (inTheWay !== undefined) {
    const reason = `${inTheWay} is there already, and was not made for it`;
    return { ...common, change: 'skipped', reason, failed: true, files: [] };
  }
  const keys = clusterKeys(found, targets.management, isBound);
  const wanted = [
    { path: caFile, text: found.ca.endsWith('\n') ? found.ca : `${found.ca}\n` },
    { path: targets.config, text: withBerthKeys(berth, keys) },
    { path: file, text: clusterFileText(found, caFile, before) },
  ];
  const files: string[] = [];
  for (const { path, text } of wanted) {
    if (readIfPresent(path) === text) continue;
    const present = await ownerAndMode(path);
    if (!targets.dryRun) await writeAtomically(path, text, present ?? { mode: 0o644 });
    files.push(path);
  }
  const change = before === undefined ? 'new' : files.length > 0 ? 'changed' : 'unchanged';
  const credentials = oidc === undefined ? 'service-account' : 'oidc';
  return { ...common, change, credentials, files };
}

/** A file that was not made for this cluster. A CA is its own if its file of clusters.d names it. */
function foreignFile(of: {
  readonly cluster: string;
  readonly before: string | undefined;
  readonly file: string;
  readonly caFile: string;
}): string | undefined {
  const { before, file, caFile } = of;
  const from = before === undefined ? undefined : madeFrom(before);
  if (before !== undefined && (from === undefined || pathOf(from) !== of.cluster)) return file;
  if (before !== undefined && caFileOf(before) === caFile) return undefined;
  return readIfPresent(caFile) === undefined ? undefined : caFile;
}

/**
 * Removes what belongs to a cluster; OnDemand's file last: by it a later run knows what is left to do, if this one is
 * killed.
 *
 * @throws as `writeCluster`
 */
export async function removeCluster(
  { name, cluster }: MadeFile,
  { config, clustersDir, caDir, dryRun }: Targets,
): Promise<DiscoveredChange> {
  const berth = readIfPresent(config) ?? '';
  const text = withBerthKeys(berth, [[['clusters', name], undefined]]);
  const file = join(clustersDir, `${name}.yml`);
  const caFile = join(caDir, `${name}.pem`);
  const ownsCa = caFileOf(readIfPresent(file) ?? '') === caFile;
  if (!dryRun) {
    const present = await ownerAndMode(config);
    if (text !== berth) await writeAtomically(config, text, present ?? { mode: 0o644 });
    if (ownsCa) await rm(caFile, { force: true });
    await unlink(file);
  }
  return { name, cluster, change: 'removed', files: [file, config, ...(ownsCa ? [caFile] : [])] };
}

/** A file of clusters.d that an earlier run made. */
export interface MadeFile {
  readonly name: string;
  /** `NAMESPACE/NAME` of the Cluster. */
  readonly cluster: string;
  readonly namespace: string;
}

export interface PresentFiles {
  /** All names of clusters.d, and the Cluster that the file was made from; undefined for a file of the site's own. */
  readonly held: ReadonlyMap<string, string | undefined>;
  readonly made: readonly MadeFile[];
  /** The site's own clusters that get tokens of the identity provider. */
  readonly ownWithOidc: ReadonlySet<string>;
}

/** @throws {BerthError} those of `readIfPresent` */
export function presentFiles(clustersDir: string): PresentFiles {
  const held = new Map<string, string | undefined>();
  const made: MadeFile[] = [];
  const ownWithOidc = new Set<string>();
  for (const file of directoryNames(clustersDir).toSorted()) {
    // ood_core reads both extensions, and no hidden file.
    const [, name, extension] = /^([^.].*)\.(ya?ml)$/.exec(file) ?? [];
    if (name === undefined) continue;
    const text = readIfPresent(join(clustersDir, file)) ?? '';
    const from = extension === 'yml' ? madeFrom(text) : undefined;
    // With both, the site has written one of them.
    if (from === undefined || held.has(name)) {
      held.set(name, undefined);
      if (hasOidc(text)) ownWithOidc.add(name);
      continue;
    }
    const cluster = pathOf(from);
    held.set(name, cluster);
    made.push({ name, cluster, namespace: from.namespace });
  }
  return { held, made, ownWithOidc };
}
