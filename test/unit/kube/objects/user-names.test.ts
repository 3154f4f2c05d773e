import { describe, expect, it } from 'vitest';
import {
  kubeconfigUserOf,
  namespaceOf,
  subjectOf,
} from '../../../../src/kube/objects/user-names.ts';

describe("the user's namespace", () => {
  it.each([
    ['', 'ann', 'ann'],
    ['user-', 'a.b@example.org', 'user-a-b-example-org'],
    ['ood-', 'a-b', 'ood-a-b'],
    ['x', '1234', 'x1234'],
  ])('is what the adapter of OnDemand computes: %j + %j', (prefix, name, namespace) => {
    expect(namespaceOf(prefix, name)).toBe(namespace);
  });

  it('is the same for a.b, a@b and a-b: the owner annotation tells them apart', () => {
    expect(new Set(['a.b', 'a@b', 'a-b'].map((name) => namespaceOf('user-', name))).size).toBe(1);
  });

  it.each([
    ['', 'Ann'],
    ['', 'a_b'],
    ['', 'ann-'],
    ['-', 'ann'],
    ['', '.ann'],
    ['user-', 'x'.repeat(59)],
    ['', ''],
    ['', 'ann\n'],
  ])('is refused where Kubernetes would refuse it: %j + %j', (prefix, name) => {
    expect(() => namespaceOf(prefix, name)).toThrow(
      expect.objectContaining({ code: 'namespace-name-invalid' }),
    );
  });
});

it('keeps the name as it is for kubectl and for RBAC', () => {
  expect(kubeconfigUserOf({ usernamePrefix: 'k8s-' }, 'a.b@c')).toBe('k8s-a.b@c');
  expect(subjectOf({ subjectPrefix: 'https://idp#' }, 'a.b@c')).toBe('https://idp#a.b@c');
});
