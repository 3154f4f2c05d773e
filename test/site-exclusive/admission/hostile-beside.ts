import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { claimOf } from './hostile-claims.ts';
import { free, service } from './hostile-services.ts';
import { absent, annotations, type HostileRequest, patched } from './hostile.ts';

/** What else is there already. */
export const bystanders: readonly Manifest[] = [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { type: 'NodePort', selector: { app: 'x' }, ports: [{ port: 80 }] },
  },
  {
    ...service({ type: 'LoadBalancer', loadBalancerClass: 'example.org/campus' }),
    metadata: { name: 'balanced' },
  },
  { ...claimOf({}), metadata: { name: 'waits' } },
];

const order = {
  policy: 'pods',
  field: 'metadata.annotations k8s.v1.cni.cncf.io/networks',
  wanted: absent,
} as const;
const routes = {
  policy: 'service-endpoints',
  field: 'only components of the cluster',
  wanted: 'may write the endpoints and status of a Service',
} as const;
const assigned = (field: string) =>
  ({
    policy: 'services',
    field: `spec.${field}`,
    wanted: 'must be absent: the cluster assigns it',
  }) as const;
const changed = (fields: object): ReturnType<typeof patched> => patched('pods/victim', fields);
const web = (fields: object): ReturnType<typeof patched> => patched('services/web', fields);

/** On the Service and the claim that are there, and beside them. */
export const hostileBeside: readonly HostileRequest[] = [
  {
    way: 'a network of its choice for a pod that runs',
    ...order,
    ...changed(annotations({ 'k8s.v1.cni.cncf.io/networks': 'storage/lustre' })),
  },
  {
    way: 'an order with an empty value for a pod that runs',
    ...order,
    ...changed(annotations({ 'k8s.v1.cni.cncf.io/networks': '' })),
  },
  {
    way: 'an order with an empty value by pods/status',
    ...order,
    ...changed(annotations({ 'k8s.v1.cni.cncf.io/networks': '' })),
    path: 'pods/victim/status',
  },
  {
    way: 'an address for a Service that is there (CVE-2020-8554)',
    policy: 'services',
    field: 'spec.externalIPs',
    wanted: absent,
    ...web({ spec: { externalIPs: ['10.0.0.1'] } }),
  },
  {
    way: 'a free address by server-side apply',
    ...assigned('clusterIP'),
    method: 'PATCH',
    path: 'services/applied?fieldManager=mallory',
    contentType: 'application/apply-patch+yaml',
    body: service({ clusterIP: free }, { name: 'applied' }),
  },
  {
    way: 'a free address with managed fields of its own',
    ...assigned('clusterIP'),
    method: 'POST',
    path: 'services',
    body: service({ clusterIP: free }, { managedFields: [{}] }),
  },
  {
    way: 'a free port of the nodes for a Service that is there',
    ...assigned('ports.nodePort'),
    ...web({ spec: { ports: [{ port: 80, nodePort: 31_997 }] } }),
  },
  {
    way: 'the address of another pod by pods/status',
    ...routes,
    ...changed({ status: { podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] } }),
    path: 'pods/victim/status',
  },
  {
    way: 'a load balancer for a Service that is there',
    policy: 'services',
    field: 'spec.type',
    wanted: 'must be ClusterIP or NodePort',
    ...web({ spec: { type: 'LoadBalancer' } }),
  },
  {
    way: 'a name by ExternalDNS for a Service that is there',
    policy: 'services',
    field: 'metadata.annotations external-dns.alpha.kubernetes.io/hostname',
    wanted: absent,
    ...web(annotations({ 'external-dns.alpha.kubernetes.io/hostname': '' })),
  },
  {
    way: 'an address by services/status (CVE-2020-8554)',
    ...routes,
    ...patched('services/balanced/status', {
      status: { loadBalancer: { ingress: [{ ip: '10.0.0.1' }] } },
    }),
  },
  {
    way: "somebody else's pod behind a Service, by Endpoints",
    ...routes,
    method: 'POST',
    path: 'endpoints',
    body: {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'free' },
      subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 2049 }] }],
    },
  },
  {
    way: "somebody else's pod behind a Service, by an EndpointSlice",
    ...routes,
    method: 'POST',
    path: '/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices',
    body: {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'free-1', labels: { 'kubernetes.io/service-name': 'free' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.0.0.1'] }],
      ports: [{ port: 2049 }],
    },
  },
  {
    way: "an admin's volume for a claim that waits",
    policy: 'claims',
    field: 'spec.volumeName',
    wanted: 'must be absent: users get a new volume, not an existing one',
    ...patched('persistentvolumeclaims/waits', { spec: { volumeName: 'the-root-of-the-node' } }),
  },
  {
    way: 'a directory of its choice for a claim that waits',
    policy: 'claims',
    field: 'metadata.annotations nfs.io/storage-path',
    wanted: absent,
    ...patched('persistentvolumeclaims/waits', annotations({ 'nfs.io/storage-path': '../bob' })),
  },
];
