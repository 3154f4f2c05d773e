import { describe, expect, it } from 'vitest';
import { differs } from '../../../src/desired/drift.ts';
import type { KubeObject, LiveObject } from '../../../src/desired/kube-object.ts';

const policy: KubeObject = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'p', namespace: 'u-alice' },
  spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from: [{ podSelector: {} }] }] },
};
const live = (change: Record<string, unknown> = {}): LiveObject =>
  ({
    metadata: { name: 'p', namespace: 'u-alice', uid: 'u', resourceVersion: '7' },
    spec: { ...(policy.spec as object), ...change },
  }) as unknown as LiveObject;

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

  it('leaves references of others on the ServiceAccount alone', () => {
    const account: KubeObject = {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'default', namespace: 'u-alice' },
      imagePullSecrets: [{ name: 'ours' }],
    };
    const has = (...names: string[]): LiveObject =>
      ({
        metadata: { name: 'default', namespace: 'u-alice' },
        imagePullSecrets: names.map((name) => ({ name })),
      }) as unknown as LiveObject;
    expect(differs(account, has('theirs', 'ours'))).toBe(false);
    expect(differs(account, has('theirs'))).toBe(true);
  });
});
