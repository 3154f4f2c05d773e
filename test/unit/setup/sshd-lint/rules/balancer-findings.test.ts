import { describe, expect, it } from 'vitest';
import { balancerFindings } from '../../../../../src/setup/sshd-lint/rules/balancer-findings.ts';
import { parseSshdConfigLines } from '../../../../../src/setup/sshd-lint/rules/config-lines.ts';
import { parseMatchCriteria } from '../../../../../src/setup/sshd-lint/rules/match.ts';
import { parseSshdOptions } from '../../../../../src/setup/sshd-lint/rules/options.ts';

/** What OpenSSH 10 prints of its defaults on Debian, the lines that matter here. */
const openssh10 = `port 22
strictmodes yes
usedns no
persourcepenaltyexemptlist none
maxstartups 10:30:100
persourcemaxstartups none
persourcenetblocksize 32:128
persourcepenalties crash:90 authfail:5 noauth:1 grace-exceeded:10 refuseconnection:10 max:600 min:15 max-sources4:65536 max-sources6:65536 overflow:permissive overflow6:permissive
`;
/** And of OpenSSH 9.2, which has no penalties. */
const openssh92 = openssh10.replaceAll(/^persourcepenalt.*\n/gm, '');

const balancers = ['192.0.2.1', '2001:db8:1::/64'];

function codes(printed: string, config = '', given: readonly string[] = balancers) {
  const options = parseSshdOptions(printed);
  if (options === undefined) throw new Error('not parsed');
  const lines = parseSshdConfigLines(config).map((line) => ({ ...line, file: 'x' }));
  const found = balancerFindings(options, given, {
    blocks: lines
      .filter(({ keyword }) => keyword === 'match')
      .map((line) => ({ ...line, text: line.rest, criteria: parseMatchCriteria(line) })),
    directives: lines.map((line) => ({ ...line, criteria: [] })),
  });
  return found.map(({ code, severity, closedBy, place }) => ({ code, severity, closedBy, place }));
}
const set = (keyword: string, value: string): string =>
  openssh10.replace(new RegExp(`^${keyword} .*$`, 'm'), `${keyword} ${value}`);

describe('an sshd behind balancers', () => {
  it('is as good as any other if ssh.yml names none', () => {
    expect(codes(openssh10, 'Match Address 10.0.0.0/8', [])).toEqual([]);
  });

  it('punishes everybody since OpenSSH 9.8', () => {
    expect(codes(openssh10)).toMatchObject([
      {
        code: 'balancer-penalties',
        closedBy: 'PerSourcePenaltyExemptList 192.0.2.1,2001:db8:1::/64',
      },
      { code: 'balancer-max-startups' },
    ]);
    expect(codes(openssh92)).toMatchObject([{ code: 'balancer-max-startups' }]);
  });

  it.each([
    ['persourcepenalties', 'no', []],
    ['persourcepenaltyexemptlist', '192.0.2.0/24,2001:db8::/32', []],
    ['persourcepenaltyexemptlist', '192.0.2.0/24 2001:db8:1::/64', []],
    ['persourcepenaltyexemptlist', '192.0.2.1', ['balancer-penalties']],
    // A part of the network is not enough.
    ['persourcepenaltyexemptlist', '192.0.2.1,2001:db8:1::/72', ['balancer-penalties']],
    ['persourcemaxstartups', '10', ['balancer-penalties', 'balancer-source-startups']],
    ['persourcenetblocksize', '24:64', ['balancer-penalties', 'balancer-net-block']],
    ['usedns', 'yes', ['balancer-penalties', 'balancer-use-dns']],
  ])('%s %s', (keyword, value, expected) => {
    const text = set(keyword, value).replace('10:30:100', '500:30:1000');
    expect(codes(text).map(({ code }) => code)).toEqual(expected);
  });

  it.each([
    ['Match Address 192.0.2.0/24', 'weakness', 'x:1'],
    ['Match Address 10.0.0.0/8', 'advice', 'x:1'],
    ['Match Host *.example.org', 'advice', 'x:1'],
    ['AllowUsers alice@192.0.2.* bob', 'weakness', 'x:1'],
    ['DenyUsers *@10.0.0.0/8', 'advice', 'x:1'],
  ])('sees its address in %s', (config, severity, place) => {
    expect(codes(set('persourcepenalties', 'no').replace('10:', '500:'), config)).toMatchObject([
      { code: 'balancer-address', severity, place },
    ]);
  });

  it('may treat the balancers themselves differently', () => {
    const config = 'Match Address 192.0.2.1\nMatch User alice\nAllowUsers alice';
    expect(codes(set('persourcepenalties', 'no').replace('10:', '500:'), config)).toEqual([]);
  });
});
