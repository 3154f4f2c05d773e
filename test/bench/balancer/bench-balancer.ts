/**
 * `npm run bench:balancer [PART …]` measures what haproxy, with the configuration of `berth render balancer`, adds to
 * connections to plain sshd. Direct connections and those through the balancer alternate. Parts: connect bulk rate.
 */
import '../../../scripts/check-node.ts';
import { NodesBehindBalancer } from '../../rig/balancer/nodes-behind-balancer.ts';
import { ensureCommand } from '../../rig/site/debian-packages.ts';
import { installBerth } from '../../rig/site/portal.ts';
import { machine } from '../measure.ts';
import { heading, printLine } from '../report.ts';
import { bulk } from './bulk.ts';
import { connect } from './connect.ts';
import { rate } from './rate.ts';
import { user, type Ways } from './ways.ts';

const parts: Readonly<Record<string, readonly [string, (ways: Ways) => Promise<void>]>> = {
  connect: ['A new connection', connect],
  bulk: ['Half a gigabyte', bulk],
  rate: ['New connections per second', rate],
};

const given = process.argv.slice(2);
for (const name of given)
  if (!(name in parts)) throw new Error(`no part ${name}: ${Object.keys(parts).join(', ')}`);
await ensureCommand('time', 'time');
await installBerth();
printLine(`Plain sshd behind haproxy and without it: ${machine}; medians of runs in turn`);
const site = await NodesBehindBalancer.start(
  { together: false },
  { mode: 'plain', users: { [user]: [] }, images: false },
);
try {
  const [direct] = site.nodes;
  if (direct === undefined) throw new Error('there is no node');
  for (const [name, [title, run]] of Object.entries(parts)) {
    if (given.length > 0 && !given.includes(name)) continue;
    heading(title);
    await run({ direct, balanced: site.front });
  }
} finally {
  await site.stop();
}
