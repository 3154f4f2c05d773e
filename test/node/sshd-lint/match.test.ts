import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSshdConfigLines } from '../../../src/sshd-lint/rules/config-lines.ts';
import {
  endpointMatching,
  parseMatchCriteria,
  type SshdConnection,
  matchesConnection,
} from '../../../src/sshd-lint/rules/match.ts';
import { LintHost } from './lint-host.ts';

let host: LintHost;

beforeAll(async () => {
  host = await LintHost.make([
    { name: 'ann', shell: '/bin/sh', groups: ['berth', 'staff.x'] },
    { name: 'a-b', shell: '/bin/sh', groups: ['guests'] },
  ]);
});
afterAll(() => host.remove());

const base = {
  host: 'client.invalid',
  address: '192.0.2.77',
  localAddress: '192.0.2.1',
  localPort: 22,
};
const connections: SshdConnection[] = [
  { ...base, user: 'ann', groups: ['ann', 'berth', 'staff.x'] },
  { ...base, user: 'a-b', groups: ['a-b', 'guests'], address: '10.1.2.3', localPort: 2222 },
  { ...base, user: 'nobody-there', groups: [], address: '2001:db8::5', host: 'n1.cluster' },
];

/** Conditions as sites write them, compared with sshd. */
const conditions = [
  'User ann',
  'User a*',
  'User a?b,ann',
  'User *,!ann',
  'User !ann',
  'User=ann',
  'User "ann"',
  'user ann # the first',
  'Group berth',
  'Group *,!guests',
  'Group staff.?',
  'Group berth,guests User a*',
  'Address 10.0.0.0/8',
  'Address 10.0.0.0/8,192.0.2.*',
  'Address 192.0.2.0/24,!192.0.2.77',
  'Address 2001:db8::/32',
  'Address ::/0',
  'Address *',
  'LocalAddress 192.0.2.1',
  'LocalPort 2222',
  'LocalPort 22 User ann',
  'Host *.cluster',
  'Host *.CLUSTER,!n2.*',
  'all',
];

describe('Match', () => {
  it.each(conditions)('%s: matches as in sshd', async (condition) => {
    const config = `HostKey ${host.path('host_key')}\nMatch ${condition}\n  ForceCommand taken\n`;
    const file = await host.write('sshd_config', config);
    const [line] = parseSshdConfigLines(`Match ${condition}`);
    const criteria = parseMatchCriteria({ args: line?.args ?? [] });
    const block = { file, line: 2, text: condition, criteria };
    // A connection that is meant to match a block does, for every matching account.
    const there = { ...base, ...endpointMatching(block, base) };
    for (const connection of [...connections, { ...connections[0], ...there } as SshdConnection]) {
      const { user, host: name, address, localAddress, localPort } = connection;
      const test = `user=${user},host=${name},addr=${address},laddr=${localAddress},lport=${localPort}`;
      const { command, words } = host.inside(['/usr/sbin/sshd', '-T', '-f', file, '-C', test]);
      const { stdout } = await execa(command, words);
      expect(matchesConnection(block, connection), test).toBe(
        stdout.includes('\nforcecommand taken'),
      );
    }
  });
});
