/**
 * `npm run install:site -- --prefix /usr/lib/berth` installs the outputs and the Node that runs them in one directory,
 * and the JSON Schemas of the configuration in `share/berth/schema` beside the prefix's `lib`. Nothing there depends on
 * this checkout afterwards. With `--destdir DIR` everything is written below DIR, for an archive that is installed on other
 * hosts.
 */
import './check-node.ts';
import { globSync } from 'node:fs';
import { basename, isAbsolute, join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildOutputs, installCopy } from './outputs.ts';

const { prefix, destdir } = parseArgs({
  options: {
    prefix: { type: 'string', default: '/usr/lib/berth' },
    destdir: { type: 'string', default: '/' },
  },
}).values;
if (!isAbsolute(prefix)) throw new Error(`--prefix ${prefix}: must be an absolute path`);

const below = (path: string): string => join(destdir, path);
const node = join(prefix, 'node');
await installCopy(below(node), process.execPath);
await buildOutputs({ node, out: below(prefix), prefix });
// Editors look for them where the examples of etc/berth say.
const schemas = prefix.endsWith('/lib/berth') ? join(prefix, '../../share/berth') : prefix;
for (const file of globSync(new URL('../etc/schema/*.json', import.meta.url).pathname))
  await installCopy(below(join(schemas, 'schema', basename(file))), file, 0o644);
process.stderr.write(`installed Berth in ${below(prefix)}\n`);
