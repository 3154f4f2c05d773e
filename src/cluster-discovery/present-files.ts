import { join } from 'node:path';
import { directoryNames } from '../system/if-present.ts';
import { readIfPresent } from '../system/trusted-text.ts';
import { hasOidc, madeFrom } from './rules/cluster-files.ts';
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
