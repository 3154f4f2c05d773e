/**
 * `npm run install:site -- --prefix /usr/lib/berth` puts the outputs and the Node that they run on
 * below one folder of root's. Nothing there depends on this checkout afterwards.
 */
import './check-node.ts';
import { isAbsolute, join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildOutputs, installCopy } from './outputs.ts';

const { prefix } = parseArgs({
  options: { prefix: { type: 'string', default: '/usr/lib/berth' } },
}).values;
if (!isAbsolute(prefix)) throw new Error(`--prefix ${prefix}: an absolute path is wanted`);

const node = join(prefix, 'node');
await installCopy(node, process.execPath);
await buildOutputs({ node, out: prefix });
process.stderr.write(`installed Berth in ${prefix}\n`);
