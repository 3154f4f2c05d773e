import { join } from 'node:path';
import { directoryNames } from '../system/directory-names.ts';
import { readIfPresent } from '../system/read-if-present.ts';
import { madeFrom } from './rules/cluster-files.ts';
import { pathOf } from './rules/cluster-names.ts';

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
}

/** @throws system errors */
export async function presentFiles(clustersDir: string): Promise<PresentFiles> {
  const held = new Map<string, string | undefined>();
  const made: MadeFile[] = [];
  for (const file of directoryNames(clustersDir).toSorted()) {
    // ood_core reads both extensions, and no hidden file.
    const [, name, extension] = /^([^.].*)\.(ya?ml)$/.exec(file) ?? [];
    if (name === undefined) continue;
    const text = extension === 'yml' ? await readIfPresent(join(clustersDir, file)) : undefined;
    const from = text === undefined ? undefined : madeFrom(text);
    // With both, the site has written one of them.
    if (from === undefined || held.has(name)) {
      held.set(name, undefined);
      continue;
    }
    const cluster = pathOf(from);
    held.set(name, cluster);
    made.push({ name, cluster, namespace: from.namespace });
  }
  return { held, made };
}
