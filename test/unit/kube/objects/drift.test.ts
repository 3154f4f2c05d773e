import { describe, expect, it } from 'vitest';
import { differs, mergePullSecrets } from '../../../../src/kube/objects/object-drift.ts';
import type { KubeObject, LiveObject } from '../../../../src/kube/objects/kube-object.ts';

const policy: KubeObject = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'p', namespace: 'u-alice' },
  spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from: [{ podSelector: {} }] }] },
};
const live = (change: Record<string, unknown> = {}): LiveObject => ({
  metadata: { name: 'p', namespace: 'u-alice', uid: 'u', resourceVersion: '7' },
  spec: { ...policy.spec, ...change },
});

describe('drift of a live object', () => {
  it('is none where the server only added its own fields', () => {
    expect(differs(policy, live())).toBe(false);
  });

  it.each([
    ['a rule was added', { ingress: [{ from: [{ podSelector: {} }] }, {}] }],
    ['the rules are gone', { ingress: [] }],
    ['the policy was narrowed to some pods', { podSelector: { matchLabels: { app: 'x' } } }],
    ['its type was changed', { policyTypes: ['Egress'] }],
  ])('is seen where %s', (_, change) => {
    expect(differs(policy, live(change))).toBe(true);
  });

  it.each([
    ['a peer lets other namespaces in', { from: [{ podSelector: {}, namespaceSelector: {} }] }],
    ['a rule holds for one port only', { from: [{ podSelector: {} }], ports: [{ port: 22 }] }],
  ])('is seen where %s', (_, rule) => {
    expect(differs(policy, live({ ingress: [rule] }))).toBe(true);
  });

  it('keeps references of others on the ServiceAccount, and adds ours where it is missing', () => {
    const account: KubeObject = {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'default', namespace: 'u-alice' },
      imagePullSecrets: [{ name: 'ours' }],
    };
    const drift = (...names: string[]): unknown => {
      const there = {
        metadata: { name: 'default', namespace: 'u-alice', resourceVersion: '7' },
        imagePullSecrets: names.map((name) => ({ name })),
      } as unknown as LiveObject;
      const wanted = mergePullSecrets(account, there);
      const { metadata, imagePullSecrets } = wanted as KubeObject<'ServiceAccount'>;
      return differs(wanted, there) && [metadata.resourceVersion, imagePullSecrets];
    };
    expect(drift('theirs', 'ours')).toBe(false);
    expect(drift('theirs')).toEqual(['7', [{ name: 'theirs' }, { name: 'ours' }]]);
    expect(drift()).toEqual(['7', [{ name: 'ours' }]]);
  });
});

describe('amounts in a ResourceQuota', () => {
  const differ = (wanted: string | number, stored: string): boolean => {
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota' } as const;
    const metadata = { name: 'ondemand', namespace: 'u-alice' };
    const there = { metadata, spec: { hard: { x: stored } } } as unknown as LiveObject;
    // YAML lets the site write a number, which the library's types do not know.
    const hard = { x: wanted as string };
    return differs({ ...quota, metadata, spec: { hard } }, there);
  };

  it.each([
    ['1000m', '1'],
    ['0.5', '500m'],
    ['.5', '500m'],
    [20, '20'],
    [0.25, '250m'],
    ['1024Mi', '1Gi'],
    ['0.5Gi', '512Mi'],
    ['1e3', '1k'],
    ['2E', '2E'],
    ['+5', '5'],
    ['1.0000000001', '1000000001n'],
  ])('%s is what the API server stores as %s', (wanted, stored) => {
    expect(differ(wanted, stored)).toBe(false);
  });

  it.each([
    ['1', '1m'],
    ['1M', '1Mi'],
    ['1x', '1'],
    ['', '0'],
  ])('%s is not %s', (wanted, stored) => {
    expect(differ(wanted, stored)).toBe(true);
  });
});

describe('a LimitRange', () => {
  type Limits = NonNullable<KubeObject<'LimitRange'>['spec']>['limits'];
  const limitRange = (limits: Limits): KubeObject => ({
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: { name: 'ondemand', namespace: 'u-alice' },
    spec: { limits },
  });
  const item = { type: 'Container', default: { cpu: '1' } };

  it('is as wanted where the API server filled in its defaults', () => {
    const stored = { ...item, defaultRequest: { cpu: '1' } };
    const there = limitRange([stored]) as unknown as LiveObject;
    expect(differs(limitRange([item]), there)).toBe(false);
    expect(differs(limitRange([{ ...item, default: { cpu: '2' } }]), there)).toBe(true);
  });
});
