import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { siteAdmission } from '../../../src/kube/admission/admission-settings.ts';
import { kyvernoPolicies } from '../../../src/kube/admission/kyverno-policies.ts';
import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { annotated, type HostileObject } from '../../site-exclusive/admission/hostile.ts';
import {
  claimOf,
  friendlyDevices,
  hostileByControllers,
  hostileClaims,
  hostileDevices,
} from '../../site-exclusive/admission/hostile-claims.ts';
import { hostilePods } from '../../site-exclusive/admission/hostile-pods.ts';
import { hostileServices, service } from '../../site-exclusive/admission/hostile-services.ts';
import { hostileTemplates } from '../../site-exclusive/admission/hostile-templates.ts';
import { kyvernoApply, type Refusals } from '../../rig/kyverno/kyverno-cli.ts';
import { testUser, siteParameters } from '../../rig/admission/test-user.ts';

// Kyverno's command line knows objects that are created. Updates, with what was there before, and
// subresources are beyond it: those cases are hostile-requests.test.ts's alone.
const namespace = 'user-ada';
const settings = siteAdmission(siteParameters);
const ondemand = new URL('../../site-exclusive/admission/ondemand/', import.meta.url).pathname;

const secret: HostileObject = {
  way: 'a token that never ends',
  policy: 'account-tokens',
  field: 'type',
  wanted: 'must not be kubernetes.io/service-account-token',
  object: {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'forever' },
    type: 'kubernetes.io/service-account-token',
  },
};
const stolen: HostileObject = {
  way: 'a namespace of somebody else',
  policy: 'namespace-identity',
  field: 'metadata.annotations',
  wanted: 'openondemand.org/uid',
  object: {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'stolen', annotations: testUser.annotations },
  },
};
const endpoints: HostileObject = {
  way: "somebody else's pod behind a Service",
  policy: 'service-endpoints',
  field: 'only components of the cluster',
  wanted: 'may write the endpoints and status of a Service',
  object: {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'free' },
    subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 2049 }] }],
  },
};
const hostile = [
  ...[...hostilePods, ...hostileTemplates, ...hostileServices, ...hostileClaims, ...hostileDevices],
  ...[secret, stolen, endpoints],
];

const friendly: readonly (readonly [string, Manifest])[] = [
  ['kubectl run', testUser.pod()],
  ["the Service of OnDemand's adapter", service({ type: 'NodePort' })],
  ['a claim', claimOf({})],
  ...friendlyDevices.map((one) => [`a ${one.kind}`, one] as const),
  ['what people write down', annotated({ note: '', 'kubectl.kubernetes.io/restartedAt': 'x' })],
  ...readdirSync(ondemand).map(
    (file) => [file, parse(readFileSync(ondemand + file, 'utf8')) as Manifest] as const,
  ),
];

let refusals: Refusals;

beforeAll(async () => {
  const objects = [
    ...hostile.map(({ object }, index) => named(object, `hostile-${index}`)),
    ...friendly.map(([, object], index) => named(object, `friendly-${index}`)),
  ];
  refusals = await apply(objects, 'ada');
}, 1_800_000);

function apply(objects: readonly Manifest[], user: string): Promise<Refusals> {
  const labels = { [settings.label.key]: settings.label.value };
  const { annotations } = testUser;
  const home = { apiVersion: 'v1', kind: 'Namespace' };
  const namespaces = [{ ...home, metadata: { name: namespace, labels, annotations } }];
  return kyvernoApply(kyvernoPolicies(settings), objects, { user, namespaces });
}

function named(object: Manifest, name: string): Manifest {
  const place = object.kind === 'Namespace' ? {} : { namespace };
  // Kyverno sees what the API server understood: null is nothing.
  const understood = JSON.parse(
    JSON.stringify(object, (_, value: unknown) => value ?? undefined),
  ) as Manifest;
  const managedFields = [{ fieldsV1: { 'f:spec': fieldsOf(understood.spec) } }];
  return { ...understood, metadata: { ...object.metadata, ...place, name, managedFields } };
}

/** The fields of a spec as `managedFields` has them, as far as the policies read them. */
function fieldsOf(spec: unknown): object {
  const { ports, ...rest } = (spec ?? {}) as { ports?: readonly object[] };
  const fields = (value: object): object =>
    Object.fromEntries(Object.keys(value).map((key) => [`f:${key}`, {}]));
  const each = ports?.map((port, index) => [`k:${index}`, fields(port)]) ?? [];
  return { ...fields(rest), ...(ports && { 'f:ports': Object.fromEntries(each) as object }) };
}

describe('Kyverno refuses, with the same policy and message,', () => {
  it.each(hostile.map((one, index) => [one.way, index, one] as const))('%s', (_, index, one) => {
    const { policy, message } = refusals.get(`hostile-${index}`) ?? { policy: '', message: '' };

    expect(policy).toBe(settings.prefix + one.policy);
    expect(message).toContain(one.field);
    expect(message).toContain(one.wanted);
    expect(message).toMatch(/Ask hpc-help@example\.org\.$/);
  });
});

describe('Kyverno refuses also what a controller makes for a user:', () => {
  it.each([...Map.groupBy(hostileByControllers, ([by]) => by)])('%s', async (by, own) => {
    const objects = own.map(([, { object }], index) => named(object, `hostile-${index}`));
    const friendly = [claimOf({}), ...friendlyDevices].map((object, index) =>
      named(object, `friendly-${index}`),
    );
    const found = await apply([...objects, ...friendly], by);

    for (const [index, [, { way, policy }]] of own.entries())
      expect([way, found.get(`hostile-${index}`)?.policy]).toEqual([way, settings.prefix + policy]);
    for (const index of friendly.keys()) expect(found.get(`friendly-${index}`)).toBeUndefined();
  });
});

describe('Kyverno accepts', () => {
  it('a claim of the login hook that keeps its namespace', async () => {
    const [account = ''] = settings.parameters.stampers;
    const made = claimOf({}, { labels: { 'berth.dev/user-volume': 'true' } });
    const found = await apply([named(made, 'made')], `system:serviceaccount:${account}`);
    expect(found.get('made')).toBeUndefined();
  });

  it.each(friendly.map(([name], index) => [name, index] as const))('%s', (_, index) => {
    expect(refusals.get(`friendly-${index}`)).toBeUndefined();
  });
});
