/**
 * `npm run bench:ssh [PART …]`: what a session costs, beside plain sshd and beside a forced
 * `podman run`, in the same run, in turn. Parts: warm fresh share bulk idle.
 */
import { ensureCommand } from '../../site/packages.ts';
import { machine } from '../measure.ts';
import { heading, say } from '../report.ts';
import { bulk } from './bulk.ts';
import { idle } from './idle.ts';
import { fresh, share, warm } from './logins.ts';
import { openNodes, type Nodes } from './nodes.ts';

const parts: Readonly<Record<string, readonly [string, (nodes: Nodes) => Promise<void>]>> = {
  warm: ['A command in a warm session', warm],
  fresh: ['A command in a fresh container', fresh],
  share: ['Our own share before the session', share],
  bulk: ['One gigabyte, and a million lines', bulk],
  idle: ['200 idle sessions', idle],
};

const wanted = process.argv.slice(2);
await ensureCommand('time', 'time');
const nodes = await openNodes();
try {
  say(`Berth's sessions and their neighbours: ${machine}; medians of runs in turn`);
  for (const name of wanted.length === 0 ? Object.keys(parts) : wanted) {
    const part = parts[name];
    if (part === undefined) throw new Error(`no part ${name}: ${Object.keys(parts).join(', ')}`);
    heading(part[0]);
    await part[1](nodes);
  }
} finally {
  await nodes.stop();
}
