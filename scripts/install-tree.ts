import { globSync } from 'node:fs';
import { join } from 'node:path';
import { buildOutputs, installCopy } from './outputs.ts';

/**
 * Writes everything that Berth installs: the outputs with their Node in the prefix, and the JSON Schemas of the configuration
 * and of what commands print in `share/berth/schema` beside the prefix's `lib`.
 *
 * @param options.destdir the directory that will be `/` on the hosts
 * @param options.node path of the Node to install
 * @param options.version what `berth --version` prints; default: that of package.json
 */
export async function installTree({
  destdir,
  prefix,
  node,
  version,
}: {
  readonly destdir: string;
  readonly prefix: string;
  readonly node: string;
  readonly version?: string | undefined;
}): Promise<void> {
  const below = (path: string): string => join(destdir, path);
  const installedNode = join(prefix, 'node');
  await installCopy(below(installedNode), node);
  await buildOutputs({ node: installedNode, out: below(prefix), prefix, version });
  // Editors look for them where the examples of etc/berth say.
  const schemas = prefix.endsWith('/lib/berth') ? join(prefix, '../../share/berth') : prefix;
  const sources = new URL('../etc/schema/', import.meta.url).pathname;
  for (const file of globSync('**/*.json', { cwd: sources }))
    await installCopy(below(join(schemas, 'schema', file)), join(sources, file), 0o644);
}
