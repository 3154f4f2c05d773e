import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseBalancerSettings } from '../../../../src/config/schema/balancer-settings.ts';
import { readYaml } from '../../../../src/config/schema/yaml-document.ts';
import { refusal } from './refusal.ts';

const file = '/etc/berth/balancer.yml';
const read = (text: string): ReturnType<typeof parseBalancerSettings> => {
  const { value, place } = readYaml(text, file, 'core');
  return parseBalancerSettings(value, file, place);
};
const example = readFileSync(
  new URL('../../../../etc/berth/balancer.yml.example', import.meta.url),
  'utf8',
);

const systems = 'systems: [{name: a, nodes: [{name: n1, address: 192.0.2.11}]}]';
const kinds = 'kinds: [{name: podman, system: a, port: 22}]';
const least = `hostname: login.example.org\n${systems}\n${kinds}\n`;

describe('balancer.yml', () => {
  it('needs a name, a system with a node, and a kind', () => {
    expect(read(least)).toEqual({
      hostname: 'login.example.org',
      listen: ['0.0.0.0', '::'],
      balancers: [],
      peersPort: 1024,
      kinds: [
        {
          ...{ name: 'podman', system: 'a', nodes: [{ name: 'n1', address: '192.0.2.11' }] },
          ...{ port: 22, nodePort: 22, together: false, clientAddress: 'log' },
          maxConnections: 2000,
        },
      ],
      statistics: { address: '127.0.0.1', port: 8404 },
      sourceLimits: { connections: 200, rate: 100, exempt: [] },
      kubernetes: {
        ...{ namespace: 'ssh-balancer', replicas: 2, image: 'docker.io/library/haproxy:2.6' },
        monitoringNamespace: 'monitoring',
        addresses: [],
      },
    });
  });

  it('is frozen', () => {
    expect(Object.isFrozen(read(least).kinds[0]?.nodes)).toBe(true);
  });

  it('gives a kind the nodes of its system', () => {
    const { kinds: all } = read(example);
    expect(all.map(({ name, nodes }) => [name, nodes.map((node) => node.name)])).toEqual([
      ['podman', ['login1', 'login2', 'login3']],
      ['pods', ['login1', 'login2', 'login3']],
      ['podman', ['beta1', 'beta2']],
    ]);
  });

  it.each(['2001:db8::1', '::ffff:192.0.2.1', 'node-1.example.org', 'localhost', '192.0.2.255'])(
    'accepts the address %s',
    (address) => {
      expect(read(least.replace('192.0.2.11', `'${address}'`)).kinds[0]?.nodes[0]?.address).toBe(
        address,
      );
    },
  );

  it('accepts 200 nodes', () => {
    const nodes = Array.from(
      { length: 200 },
      (_, index) => `{name: login${index + 1}, address: 10.0.${index >> 7}.${(index & 127) + 1}}`,
    );
    const text = least.replace('{name: n1, address: 192.0.2.11}', nodes.join(', '));
    expect(read(text).kinds[0]?.nodes).toHaveLength(200);
  });

  it.each([
    ['hostname: login', 'systems is missing'],
    ['', 'hostname is missing'],
    [least.replace('podman', 'Podman'), 'kinds.1.name must be a name of lower-case letters'],
    [`${least}balancer: []`, 'balancer is unknown: did you mean balancers?'],
    [`${least}balancers: []`, 'balancers must not be empty'],
    [`${least}listen: []`, 'listen must not be empty'],
    [least.replace(systems, 'systems: []'), 'systems must not be empty'],
    [least.replace(kinds, 'kinds: []'), 'kinds must not be empty'],
    [least.replace('[{name: n1, address: 192.0.2.11}]', '[]'), 'systems.1.nodes must not be empty'],
    [least.replace('port: 22', 'prot: 22'), 'kinds.1.prot is unknown: did you mean port?'],
    [least.replace('port: 22', 'port: 70000'), 'kinds.1.port must be a port, from 1 to 65535'],
    [least.replace('port: 22', 'port: ssh'), 'kinds.1.port must be a whole number'],
    ...['192.0.2.300', '192.0.2', '2001:db8::1::2', 'fe80::1%eth0', 'node 1', '[::1]'].map(
      (address) => [
        least.replace('192.0.2.11', `'${address}'`),
        'systems.1.nodes.1.address must be an IPv4 or IPv6 address, or a host name',
      ],
    ),
    [
      `${least}balancers: [{name: lb1, address: lb1.example.org}]`,
      'balancers.1.address must be an IPv4 or IPv6 address',
    ],
    [
      least.replace('system: a', 'system: alpha'),
      'kinds.1.system: there is no system alpha in systems: there are: a',
    ],
    [
      least.replace('name: a,', 'name: alpha,').replace('system: a', 'system: alhpa'),
      'kinds.1.system: there is no system alhpa in systems: did you mean alpha?',
    ],
    [
      least.replace('}]}]', '}, {name: N1, address: 192.0.2.12}]}]'),
      'systems.1.nodes.2.name: the name N1 is already used by systems.1.nodes.1.name',
    ],
    [
      least.replace('}]}]', '}, {name: n2, address: 192.0.2.11}]}]'),
      'systems.1.nodes.2.address: the address 192.0.2.11 is already used by systems.1.nodes.1.address',
    ],
    [
      least.replace('}]}]', '}]}, {name: a, nodes: [{name: n1, address: 192.0.2.11}]}]'),
      'systems.2.name: the name a is already used by systems.1.name',
    ],
    [
      `${least}balancers: [{name: lb1, address: '::1'}, {name: lb1, address: '::2'}]`,
      'balancers.2.name: the name lb1 is already used by balancers.1.name',
    ],
    [
      least.replace('22}]', '22}, {name: podman, system: a, port: 23}]'),
      'kinds.2.name: the kind podman of system a is already used by kinds.1.name',
    ],
    [
      least.replace('22}]', '22}, {name: pods, system: a, port: 22}]'),
      'kinds.2.port: port 22 is already used by kinds.1.port',
    ],
    [`${least}peers_port: 22`, 'peers_port: port 22 is already used by kinds.1.port'],
    [
      `${least}statistics: {port: 1024}`,
      'statistics.port: port 1024 is already used by peers_port (default)',
    ],
    [`${least}kubernetes: {addresses: [192.0.2.1]}`, 'kubernetes.addresses needs kubernetes.pool'],
    [
      `${least}source_limits: {rate: -1}`,
      'source_limits.rate must be 1 or more, or 0 for no limit',
    ],
    ...['192.0.2.0/33', '2001:db8::/129', 'login.example.org', '192.0.2.0/24/1', '1.2.3.4 # x'].map(
      (network) => [
        `${least}source_limits: {exempt: ['${network}']}`,
        'source_limits.exempt.1 must be an IP address, or a network as ADDRESS/LENGTH',
      ],
    ),
    [`${least}kubernetes: {replicas: 0}`, 'kubernetes.replicas must be 1 or more'],
    [
      `${least}kubernetes: {pool: p, addresses: [a]}`,
      'kubernetes.addresses.1 must be ADDRESS, ADDRESS/LENGTH or ADDRESS-ADDRESS',
    ],
  ])('is refused: %s', (text = '', message = '') => {
    const error = refusal(() => read(text));
    expect(error).toMatchObject({ code: 'balancer-yml-invalid', exit: 'config' });
    expect(error.message).toContain(message);
    expect(error.hint).toContain('balancer.yml.example');
  });

  it('names all mistakes at once, each with line and column', () => {
    const error = refusal(() =>
      read(least.replace('22}]', '22}, {name: pods, system: b, port: 22}]')),
    );
    expect(error.message).toBe(
      `${file}:3:67: kinds.2.system: there is no system b in systems: did you mean a?; ${file}:3:76: kinds.2.port: port 22 is already used by kinds.1.port`,
    );
  });
});

describe('etc/berth/balancer.yml.example', () => {
  it('shows the defaults where it says so', () => {
    const { listen, peersPort, statistics, kubernetes, sourceLimits, kinds: all } = read(example);
    expect({ ...sourceLimits, exempt: [] }).toEqual(read(least).sourceLimits);
    const { pool, addresses, ...rest } = kubernetes;
    expect([pool, addresses.length]).toEqual(['ssh', 2]);
    expect({ listen, peersPort, statistics, kubernetes: { ...rest, addresses: [] } }).toEqual(
      (({ listen, peersPort, statistics, kubernetes }) => ({
        ...{ listen, peersPort, statistics, kubernetes },
      }))(read(least)),
    );
    expect(all[1]).toMatchObject({ together: false, clientAddress: 'log', maxConnections: 2000 });
  });
});
