/** `npm run build`: the outputs in `dist/`, run by the Node that builds them unless told otherwise. */
import './check-node.ts';
import { parseArgs } from 'node:util';
import { buildOutputs } from './outputs.ts';

const { values } = parseArgs({
  options: {
    node: { type: 'string', default: process.execPath },
    out: { type: 'string', default: new URL('../dist', import.meta.url).pathname },
  },
});
const started = performance.now();
const count = await buildOutputs(values);
process.stderr.write(`built ${count} files in ${Math.round(performance.now() - started)} ms\n`);
