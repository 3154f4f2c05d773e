import { parseAdmissionParameters } from '../../../src/config/schema/admission-parameters.ts';
import type { Manifest } from '../../../src/kube/objects/kube-object.ts';

/** The fields of a pod that tests change. */
export interface PlainPod extends Manifest {
  readonly spec: {
    readonly containers: readonly Readonly<Record<string, unknown>>[];
    readonly nodeSelector?: Readonly<Record<string, string>>;
  };
}

const uid = 5001;
const gid = 5002;
const image = 'registry.example.org/tools/shell:1';

/** The user who owns the tests' namespace, and a minimal pod without a security context. */
export const testUser = {
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

/** The parameters of the policies in the tests. */
export const siteParameters = parseAdmissionParameters(
  {
    contact: 'hpc-help@example.org',
    images: ['registry.example.org', 'docker.io', 'quay.io/jupyter/base', 'ghcr.io/site/*'],
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
    device_classes: ['gpu.example.org'],
    seccomp_profiles: ['profiles/audit.json'],
    apparmor_profiles: ['berth-tools'],
    load_balancer_classes: ['example.org/campus'],
    annotations: ['vault.hashicorp.com/*', 'sidecar.istio.io/inject'],
  },
  'the test',
);

/** A node selector that no node matches, so that a pod is never started. */
export const noSuchNode = { 'berth.dev/nowhere': 'true' } as const;
