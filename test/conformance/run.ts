/**
 * `npm run conformance -- --host HOST --port PORT --user USER --key FILE [--motd LINE] [--only TEXT]` runs the
 * conformance cases against an SSH server and prints the result of each. Exit code 1 if a case fails.
 */
import '../../scripts/check-node.ts';
import { parseArgs } from 'node:util';
import { Client } from './client.ts';
import { runCase, conformanceCases } from './suite.ts';

const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '22' },
    user: { type: 'string' },
    key: { type: 'string' },
    motd: { type: 'string' },
    only: { type: 'string', default: '' },
  },
});
const { host, port, user, key, motd, only } = values;
if (user === undefined || key === undefined) throw new Error('--user and --key are required');

const client = await Client.connect({
  ...{ host, port: Number(port), user, key },
  ...(motd === undefined ? {} : { motd }),
});
const counts = { pass: 0, fail: 0, skip: 0 };
try {
  for (const [theme, cases] of Object.entries(conformanceCases)) {
    for (const each of cases) {
      if (!`${theme}: ${each.name}`.includes(only)) continue;
      const { result, detail, ms } = await runCase(client, each);
      counts[result] += 1;
      console.log(`${result}  ${theme}: ${each.name} (${ms} ms)`);
      if (detail !== '') console.log(`      ${detail}`);
    }
  }
} finally {
  await client.cleanUp();
}
console.log(`${counts.pass} passed, ${counts.fail} failed, ${counts.skip} skipped`);
if (counts.fail > 0) process.exitCode = 1;
