import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { absent, type HostileObject, rowsOf, type Row } from './hostile.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A Service that is well but for this. */
export function service(fields: Fields, metadata: Fields = {}): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'hostile', ...metadata },
    spec: { selector: { app: 'x' }, ports: [{ port: 2049 }], ...fields },
  };
}

/** Of the range of the test site. */
export const free = '10.96.77.77';
const assigned = 'must be absent: the cluster assigns it';
const types =
  'must be ClusterIP or NodePort, or LoadBalancer with one of these loadBalancerClass values';
const annotated = (key: string): Manifest => service({}, { annotations: { [key]: 'x' } });

const rows: readonly Row[] = [
  [
    'the address of the file server (CVE-2020-8554)',
    'spec.externalIPs',
    absent,
    service({ externalIPs: ['10.0.0.1'] }),
  ],
  [
    'an address behind a NodePort',
    'spec.externalIPs',
    absent,
    service({ type: 'NodePort', externalIPs: ['10.0.0.1'] }),
  ],
  ['the default load balancer', 'spec.type', types, service({ type: 'LoadBalancer' })],
  [
    'a load balancer of another class',
    'spec.type',
    types,
    service({ type: 'LoadBalancer', loadBalancerClass: 'example.org/public' }),
  ],
  [
    'an address of its choice from a load balancer that is allowed',
    'spec.loadBalancerIP',
    absent,
    service({
      type: 'LoadBalancer',
      loadBalancerClass: 'example.org/campus',
      loadBalancerIP: '10.0.0.1',
    }),
  ],
  [
    'a name for a host that is not its own',
    'spec.type',
    types,
    service({
      type: 'ExternalName',
      externalName: 'ldap.example.org',
      selector: undefined,
      ports: undefined,
    }),
  ],
  ['a free address of the cluster', 'spec.clusterIP', assigned, service({ clusterIP: free })],
  [
    'a free address by the list',
    'spec.clusterIP',
    assigned,
    service({ clusterIP: free, clusterIPs: [free] }),
  ],
  [
    'a free port of the nodes',
    'spec.ports.nodePort',
    assigned,
    service({
      type: 'NodePort',
      ports: [
        { name: 'a', port: 80 },
        { name: 'b', port: 81, nodePort: 31_999 },
      ],
    }),
  ],
  [
    'a free port for health checks',
    'spec.ports.nodePort',
    assigned,
    service({
      type: 'LoadBalancer',
      loadBalancerClass: 'example.org/campus',
      externalTrafficPolicy: 'Local',
      healthCheckNodePort: 31_998,
    }),
  ],
  [
    "an address of its choice by MetalLB's annotation",
    'metadata.annotations metallb.io/loadBalancerIPs',
    absent,
    annotated('metallb.io/loadBalancerIPs'),
  ],
  [
    "the portal's name by ExternalDNS",
    'metadata.annotations external-dns.alpha.kubernetes.io/hostname',
    absent,
    annotated('external-dns.alpha.kubernetes.io/hostname'),
  ],
];

/** Services that would take the traffic of others. */
export const hostileServices: readonly HostileObject[] = rowsOf('services', rows);
