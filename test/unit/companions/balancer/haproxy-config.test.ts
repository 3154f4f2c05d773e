import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { haproxyConfig } from '../../../../src/companions/balancer/rules/haproxy-config.ts';
import { hostPlacement, onlyKind } from '../../../../src/companions/balancer/rules/placement.ts';
import { haproxyMark } from '../../../../src/companions/balancer/place-haproxy-config.ts';
import { withChecksum } from '../../../../src/system/text/checksum-line.ts';
import { parseBalancerSettings } from '../../../../src/config/schema/balancer-settings.ts';
import { refusal } from '../../config/schema/refusal.ts';
import { example } from './example.ts';

const etc = new URL('../../../../etc/', import.meta.url);
const node = { name: 'n1', address: '192.0.2.11' };
const document = {
  hostname: 'login.example.org',
  systems: [{ name: 'a', nodes: [node] }],
  kinds: [{ name: 'podman', system: 'a', port: 22 }],
};
type Change = Readonly<Record<string, unknown>>;
const rendered = (change: Change, balancer?: string): string => {
  const settings = parseBalancerSettings({ ...document, ...change }, 'balancer.yml');
  return haproxyConfig(settings, hostPlacement(settings, balancer));
};
const withKind = (change: Change): string =>
  rendered({ kinds: [{ ...document.kinds[0], ...change }] });
const linesOf = (text: string, title: string): string[] => {
  const section = text.split('\n\n').find((one) => one.startsWith(title));
  return (section ?? '')
    .split('\n')
    .slice(1)
    .map((line) => line.trim());
};

it('etc/haproxy/haproxy.cfg is what the example of balancer.yml gives', () => {
  expect(withChecksum(haproxyMark, haproxyConfig(example, hostPlacement(example, undefined)))).toBe(
    readFileSync(new URL('haproxy/haproxy.cfg', etc), 'utf8'),
  );
});

describe('haproxy.cfg', () => {
  it('has the names of hosts as peers, unless it is told which one is its own', () => {
    const balancers = [
      { name: 'lb1', address: '192.0.2.1' },
      { name: 'lb2', address: '2001:db8::2' },
    ];
    expect(rendered({ balancers })).not.toMatch(/^ *localpeer/m);
    expect(rendered({ balancers }, 'lb2')).toContain('    localpeer lb2\n');
    expect(linesOf(rendered({ balancers }), 'peers berth').slice(1)).toEqual([
      'peer lb1 192.0.2.1:1024',
      'peer lb2 [2001:db8::2]:1024',
    ]);
  });

  it('has a single balancer as its own peer, which keeps the table over a reload', () => {
    expect(rendered({})).toContain('localpeer local\n');
    expect(rendered({ peers_port: 1025 })).toContain('peer local 127.0.0.1:1025\n');
    expect(rendered({ balancers: [{ name: 'lb1', address: '192.0.2.1' }] })).toContain(
      'localpeer lb1\n',
    );
  });

  it('refuses an unknown balancer', () => {
    const error = refusal(() => hostPlacement(example, 'lb3'));
    expect(error).toMatchObject({ code: 'balancer-unknown', exit: 'usage' });
    expect(error.message).toBe('there is no balancer lb3; there are: lb1, lb2');
  });

  it('keeps the users of a source address on one node only where the kind says so', () => {
    expect(linesOf(withKind({ together: true }), 'listen a.podman')).toContain(
      'stick on src table berth/a',
    );
    expect(withKind({})).not.toMatch(/^ *stick on|track-sc0|^ *table/m);
  });

  it('has one table for all kinds of a system', () => {
    const kinds = ['podman', 'gpu'].map((name, index) => ({
      ...{ name, system: 'a', port: 22 + index, together: true },
    }));
    expect(rendered({ kinds }).match(/^ *table .*/gm)).toEqual([
      '    table a type ipv6 size 1m expire 36h',
    ]);
  });

  it('listens on IPv4 and IPv6 apart', () => {
    expect(linesOf(rendered({}), 'listen a.podman').slice(0, 2)).toEqual([
      'bind 0.0.0.0:22',
      'bind [::]:22 v6only',
    ]);
    expect(rendered({ listen: ['192.0.2.100'] }).match(/bind .*:22\b.*/g)).toEqual([
      'bind 192.0.2.100:22',
    ]);
  });

  it('writes IPv6 nodes in brackets, and host names as they are', () => {
    const nodes = [node, { name: 'n2', address: '::1' }, { name: 'n3', address: 'n3.example.org' }];
    expect(rendered({ systems: [{ name: 'a', nodes }] }).match(/^ *server .*/gm)).toEqual([
      '    server n1 192.0.2.11:22',
      '    server n2 [::1]:22',
      '    server n3 n3.example.org:22',
    ]);
  });

  it('has nothing but IPv6 where the list has', () => {
    const text = rendered({
      listen: ['2001:db8::100'],
      balancers: [
        { name: 'lb1', address: '2001:db8::1' },
        { name: 'lb2', address: '2001:db8::2' },
      ],
      systems: [{ name: 'a', nodes: [{ name: 'n1', address: '2001:db8::11' }] }],
      kinds: [{ ...document.kinds[0], together: true, client_address: 'transparent' }],
      statistics: { address: '::1' },
    });
    expect(text.match(/^ *(?:bind|peer|server) .*/gm)).toEqual([
      '    peer lb1 [2001:db8::1]:1024',
      '    peer lb2 [2001:db8::2]:1024',
      '    bind [2001:db8::100]:22 v6only',
      '    server n1 [2001:db8::11]:22 source [::] usesrc clientip',
      '    bind [::1]:8404 v6only',
    ]);
  });

  it('takes the address of a transparent client, as root, in the family of the node', () => {
    const text = withKind({ client_address: 'transparent' });
    expect(linesOf(text, 'listen a.podman')).toEqual([
      'bind 0.0.0.0:22',
      'maxconn 2000',
      'tcp-request connection track-sc1 src,ipmask(32,64) table sources',
      'tcp-request connection set-var(sess.refused) str(rate) if { sc1_conn_rate gt 100 }',
      'tcp-request connection set-var(sess.refused) str(connections) if { sc1_conn_cur gt 200 }',
      'tcp-request content set-log-level silent if { sc1_conn_rate gt 200 }',
      'tcp-request content reject if { var(sess.refused) -m found }',
      'tcp-response inspect-delay 30s',
      'tcp-response content accept if { res.len gt 0 }',
      'tcp-response content reject if WAIT_END',
      'server n1 192.0.2.11:22 source 0.0.0.0 usesrc clientip',
    ]);
    expect(linesOf(text, 'global')).not.toContain('user haproxy');
    expect(linesOf(withKind({}), 'global')).toContain('user haproxy');
  });

  it('limits what one source uses, except for the networks that are exempt', () => {
    const text = rendered({ source_limits: { connections: 5, rate: 0, exempt: ['192.0.2.0/24'] } });
    expect(
      linesOf(text, 'listen a.podman').filter((line) => /exempt|sc1|refused/.test(line)),
    ).toEqual([
      'acl exempt src 192.0.2.0/24',
      'tcp-request connection track-sc1 src,ipmask(32,64) table sources unless exempt',
      'tcp-request connection set-var(sess.refused) str(connections) if { sc1_conn_cur gt 5 }',
      'tcp-request content reject if { var(sess.refused) -m found }',
    ]);
    const none = rendered({ source_limits: { connections: 0, rate: 0, exempt: ['192.0.2.0/24'] } });
    expect(none).not.toMatch(/sources|exempt|sc1/);
  });

  it('closes idle connections to the statistics', () => {
    expect(linesOf(rendered({}), 'defaults http')).toContain('timeout http-request 5s');
  });

  it('has the checks of the issue, and a short wait for the second one', () => {
    expect(rendered({})).toMatch(/ inter 10s fastinter 1s fall 2 rise 1 /);
    expect(rendered({})).toContain('    timeout check 3s\n');
  });

  it('never ends the sessions of an old process', () => {
    expect(rendered({})).not.toMatch(/^\s*hard-stop-after/m);
    expect(rendered({})).not.toContain('on-marked-down');
  });

  it('has connections left for the statistics and for checks', () => {
    expect(withKind({ max_connections: 300 })).toContain('    maxconn 400\n');
  });

  it('has 200 nodes', () => {
    const nodes = Array.from({ length: 200 }, (_, index) => ({
      ...{ name: `n${index}`, address: `10.0.0.${index + 1}` },
    }));
    expect(rendered({ systems: [{ name: 'a', nodes }] }).match(/^ *server /gm)).toHaveLength(200);
  });
});

describe('a balancer for one kind', () => {
  it('has the kind of every system, and its own name', () => {
    expect(onlyKind(example, 'podman').kinds.map(({ system }) => system)).toEqual([
      'alpha',
      'beta',
    ]);
    expect(onlyKind(example, 'podman').hostname).toBe('login.example.org');
    expect(onlyKind(example, 'pods').hostname).toBe('pods.example.org');
  });

  it('refuses an unknown kind', () => {
    const error = refusal(() => onlyKind(example, 'pdoman'));
    expect(error).toMatchObject({ code: 'kind-unknown', hint: 'Did you mean podman?' });
    expect(error.message).toBe(
      '--kind pdoman: balancer.yml has no such kind of sessions; it has: podman, pods',
    );
  });
});
