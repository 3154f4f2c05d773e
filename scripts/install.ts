/**
 * `npm run install:site -- --prefix /usr/lib/berth` installs the outputs and the Node that runs them in one directory,
 * and the JSON Schemas of the configuration. Nothing there depends on this checkout afterwards. With `--destdir DIR` everything
 * is written below DIR, for an archive that is installed on other hosts.
 */
import './check-node.ts';
import { isAbsolute, join } from 'node:path';
import { parseArgs } from 'node:util';
import { installTree } from './install-tree.ts';

const { prefix, destdir } = parseArgs({
  options: {
    prefix: { type: 'string', default: '/usr/lib/berth' },
    destdir: { type: 'string', default: '/' },
  },
}).values;
if (!isAbsolute(prefix)) throw new Error(`--prefix ${prefix}: must be an absolute path`);

await installTree({ destdir, prefix, node: process.execPath });
process.stderr.write(`installed Berth in ${join(destdir, prefix)}\n`);
