import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  balancerObjects,
  configMapName,
} from '../../../../src/companions/balancer/rules/balancer-objects.ts';
import type { Manifest } from '../../../../src/kube/objects/kube-object.ts';
import { onlyKind, podPorts } from '../../../../src/companions/balancer/rules/placement.ts';
import {
  type BalancerSettings,
  parseBalancerSettings,
} from '../../../../src/config/schema/balancer-settings.ts';
import { refusal } from '../../config/schema/refusal.ts';
import { example } from './example.ts';

const etc = new URL('../../../../etc/kubernetes/ssh-balancer/', import.meta.url);
const systems = [{ name: 'a', nodes: [{ name: 'n1', address: '192.0.2.11' }] }];
const podman = { name: 'podman', system: 'a', port: 22 };
type Change = Readonly<Record<string, unknown>>;
const settings = (change: Change): BalancerSettings =>
  parseBalancerSettings(
    { hostname: 'login.example.org', systems, kinds: [podman], ...change },
    'balancer.yml',
  );
const find = (objects: readonly Manifest[], kind: string, name?: string): Manifest => {
  const found = objects.find(
    (one) => one.kind === kind && (name === undefined || one.metadata.name === name),
  );
  if (found === undefined) throw new Error(`no ${kind} ${name ?? ''}`);
  return found;
};
const service = (change: Change): Manifest =>
  find(balancerObjects(settings(change)), 'Service', 'ssh-balancer');

describe('the objects of the balancer', () => {
  it.each([
    ['base', example],
    ['overlays/podman', onlyKind(example, 'podman')],
    ['overlays/pods', onlyKind(example, 'pods')],
  ] as const)('have the haproxy.cfg of %s', (directory, one) => {
    const { data } = find(balancerObjects(one), 'ConfigMap');
    expect(data?.['haproxy.cfg']).toBe(
      readFileSync(new URL(`${directory}/haproxy.cfg`, etc), 'utf8'),
    );
  });

  it('have one Deployment and one peers’ Service for each balancer', () => {
    const objects = balancerObjects(settings({ kubernetes: { replicas: 3 } }));
    const names = (kind: string): string[] =>
      objects.filter((one) => one.kind === kind).map(({ metadata }) => metadata.name);
    expect(names('Deployment')).toEqual(['ssh-balancer-1', 'ssh-balancer-2', 'ssh-balancer-3']);
    expect(names('Service')).toEqual([...names('Deployment'), 'ssh-balancer']);
    expect(find(objects, 'ConfigMap').data?.['haproxy.cfg']).toContain(
      'peer ssh-balancer-3 "${PEER_3}"',
    );
  });

  it('have pods whose names in haproxy are those of the peers', () => {
    const text = JSON.stringify(find(balancerObjects(example), 'Deployment', 'ssh-balancer-2'));
    expect(text).toContain('"-L","ssh-balancer-2"');
    expect(text).toContain('{"name":"PEER_1","value":"$(SSH_BALANCER_1_SERVICE_HOST):1024"}');
    expect(text).toContain('{"name":"PEER_2","value":"$(POD_IP):1024"}');
  });

  it('never need a port below 1024 in a pod, nor one twice', () => {
    const kinds = [22, 10_022, 23].map((port) => ({ ...podman, name: `k${port}`, port }));
    expect([...podPorts(settings({ kinds }))]).toEqual([
      [22, 10_023],
      [10_022, 10_022],
      [23, 10_024],
    ]);
  });

  it('have a Service with a port for each kind, and the names of all', () => {
    const { metadata, spec } = find(balancerObjects(example), 'Service', 'ssh-balancer');
    expect(metadata.annotations?.['external-dns.kubernetes.io/hostname']).toBe(
      'login.example.org,pods.example.org',
    );
    expect(spec).toMatchObject({
      externalTrafficPolicy: 'Local',
      ports: [
        { name: 'podman-22', port: 22, targetPort: 10_022 },
        { name: 'pods-2022', port: 2022, targetPort: 2022 },
        { name: 'podman-2200', port: 2200, targetPort: 2200 },
      ],
    });
  });

  it('leave MetalLB alone without a pool, and make the pool only if its addresses are known', () => {
    const none = balancerObjects(settings({}));
    expect(JSON.stringify(none)).not.toContain('metallb');
    const named = balancerObjects(settings({ kubernetes: { pool: 'ssh' } }));
    expect(named.map(({ kind }) => kind)).not.toContain('IPAddressPool');
    expect(JSON.stringify(named)).toContain('"metallb.io/address-pool":"ssh"');
    const { spec } = find(
      balancerObjects(settings({ kubernetes: { pool: 'ssh', addresses: ['192.0.2.7', '::7'] } })),
      'IPAddressPool',
    );
    expect(spec).toMatchObject({ addresses: ['192.0.2.7/32', '::7/128'] });
  });

  it('name the pool, and no address, which MetalLB refuses on a cluster without its family', () => {
    const kubernetes = { pool: 'ssh', addresses: ['192.0.2.100', '2001:db8::100'] };
    const { annotations = {} } = service({ kubernetes }).metadata;
    const ofMetallb = Object.entries(annotations).filter(([key]) => key.startsWith('metallb.io/'));
    expect(ofMetallb).toEqual([['metallb.io/address-pool', 'ssh']]);
  });

  it('let the pods reach the nodes only, and host names by their port', () => {
    const policy = (address: string): Manifest =>
      find(
        balancerObjects(settings({ systems: [{ name: 'a', nodes: [{ name: 'n', address }] }] })),
        'NetworkPolicy',
      );
    const port = { protocol: 'TCP', port: 22 };
    expect(policy('::1').spec).toMatchObject({
      egress: [{}, { to: [{ ipBlock: { cidr: '::1/128' } }], ports: [port] }],
    });
    expect(policy('n.example.org').spec).toMatchObject({
      egress: [{}, { ports: [port] }, { ports: [{ port: 53 }, { protocol: 'UDP', port: 53 }] }],
    });
  });

  it('let only the monitoring reach the statistics, and nobody the port of the readiness probe', () => {
    const objects = balancerObjects(settings({ peers_port: 8405 }));
    const ingress = (find(objects, 'NetworkPolicy').spec as { ingress: object[] }).ingress;
    expect(ingress.at(-1)).toEqual({
      from: [
        { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } },
      ],
      ports: [{ protocol: 'TCP', port: 8404 }],
    });
    expect(JSON.stringify(ingress)).not.toContain('8406');
    const pod = JSON.stringify(find(objects, 'Deployment', 'ssh-balancer-1'));
    expect(pod).toContain('{"containerPort":8406,"name":"health"}');
    expect(pod).toContain('"httpGet":{"path":"/health","port":"health"}');
    const { data } = find(objects, 'ConfigMap');
    expect(data?.['haproxy.cfg']).toContain(
      'frontend health\n    bind 0.0.0.0:8406\n    bind [::]:8406 v6only\n    maxconn 20\n',
    );
    expect(data?.['haproxy.cfg']?.match(/monitor-uri/g)).toHaveLength(1);
  });

  it('refuse a transparent kind', () => {
    const kinds = [{ ...podman, client_address: 'transparent' }];
    expect(refusal(() => balancerObjects(settings({ kinds })))).toMatchObject({
      code: 'kind-not-for-pods',
      exit: 'config',
    });
  });

  it('are another ConfigMap after any change', () => {
    expect(configMapName('haproxy', { a: '<1>' })).not.toBe(configMapName('haproxy', { a: '<2>' }));
  });
});
