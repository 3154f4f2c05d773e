/**
 * `npm run install:site -- --prefix /usr/lib/berth` installs the outputs and the Node that runs them in one directory,
 * the JSON Schemas of the configuration and the manual pages. Nothing there depends on this checkout afterwards. With `--destdir DIR` everything
 * is written below DIR, for an archive that is installed on other hosts.
 */
import './check-node.ts';
import { isAbsolute, join } from 'node:path';
import { parseArgs } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import { installTree } from './install-tree.ts';
import { writeManPages } from './man-pages.ts';

const { prefix, destdir } = parseArgs({
  options: {
    prefix: { type: 'string', default: '/usr/lib/berth' },
    destdir: { type: 'string', default: '/' },
  },
}).values;
if (!isAbsolute(prefix)) throw new Error(`--prefix ${prefix}: must be an absolute path`);

await installTree({ destdir, prefix, node: process.execPath });
// man(1) looks for them in `share/man` beside the `lib` of a prefix such as /usr/lib/berth.
const manual = prefix.endsWith('/lib/berth')
  ? join(prefix, '../../share/man')
  : join(prefix, 'man');
const date = new Date().toISOString().slice(0, 10);
await writeManPages(join(destdir, manual), { version: packageJson.version, date });
process.stderr.write(`installed Berth in ${join(destdir, prefix)}\n`);
