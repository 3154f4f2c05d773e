import { parseAdmissionParameters } from '../../../src/config/admission-parameters.ts';
import type { Manifest } from '../../../src/admission/manifest.ts';

/** A pod as far as the tests change it. */
export interface PlainPod extends Manifest {
  readonly spec: {
    readonly containers: readonly Readonly<Record<string, unknown>>[];
    readonly nodeSelector?: Readonly<Record<string, string>>;
  };
}

const uid = 5001;
const gid = 5002;
const image = 'registry.example.org/tools/shell:1';

/** The user whose namespace the tests are in, and a pod of theirs that says nothing of identity. */
export const person = {
  name: 'ada',
  uid,
  gid,
  image,
  groups: [5002, 6000, 6001],
  annotations: {
    'openondemand.org/owner': 'ada',
    'openondemand.org/uid': String(uid),
    'openondemand.org/gid': String(gid),
    'openondemand.org/groups': '5002,6000,6001',
  },
  pod: (name = 'pod'): PlainPod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'main', image }] },
  }),
} as const;

/** What the site of the tests allows. */
export const siteParameters = parseAdmissionParameters(
  {
    contact: 'hpc-help@example.org',
    images: ['registry.example.org', 'docker.io', 'quay.io/jupyter/base'],
    host_paths: ['/users', '/users/*', '/fs/ess', '/home/{user}', '/apps:ro', '/etc/pki/*:ro'],
    nfs: ['nfs.example.org:/export/*', 'some.nfs.host:/fs'],
    max_lifetime: '24h',
    default_lifetime: '1h',
    max_grace_period: '2m',
    default_resources: { cpu: '500m', memory: '256Mi' },
    tolerations: ['gpu'],
    priority_classes: ['batch'],
    runtime_classes: ['nvidia'],
    csi_drivers: ['secrets-store.csi.k8s.io'],
    token_audiences: ['vault'],
    storage_classes: ['scratch'],
    load_balancer_classes: ['example.org/campus'],
    annotations: ['vault.hashicorp.com/*', 'sidecar.istio.io/inject'],
  },
  'the test',
);

/** Keeps a pod from being started: no node has this label. */
export const nowhere = { 'berth.dev/nowhere': 'true' } as const;
