import { expect, it } from 'vitest';
import { balancerLimitLines } from '../../../../../src/setup/sshd-kinds/rules/kind-config.ts';

const startups = 'MaxStartups 500:30:1000';
const exempt = 'PerSourcePenaltyExemptList 192.0.2.1,2001:db8::/64';

it.each([
  ['OpenSSH_10.0p2, OpenSSL 3.5.1', [startups, exempt]],
  ['OpenSSH_9.8p1, OpenSSL 3.2.2', [startups, exempt]],
  ['OpenSSH_9.7p1, OpenSSL 3.2.1', [startups]],
  ['unknown option -- V\nOpenSSH_9.2p1 Debian-2+deb12u7, OpenSSL 3.0.17\nusage: sshd', [startups]],
  ['OpenSSH_8.0p1, OpenSSL 1.1.1k', [startups]],
  ['', [startups]],
])('behind balancers, the sshd that says %j gets what it accepts', (version, lines) => {
  expect(balancerLimitLines(['192.0.2.1', '2001:db8::/64'], version)).toEqual(lines);
});
