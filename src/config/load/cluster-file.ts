import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { asInstalled, type ResolveConfigPath } from './config-overlay.ts';

/** The file of a cluster in clusters.d: OnDemand reads NAME.yml and NAME.yaml. Undefined if there is neither. */
export function clusterFile(
  clustersDir: string,
  name: string,
  at: ResolveConfigPath = asInstalled,
): string | undefined {
  return ['yml', 'yaml']
    .map((extension) => at(join(clustersDir, `${name}.${extension}`)))
    .find((file) => existsSync(file));
}
