import { describe, expect, it } from 'vitest';
import type { UsableCluster } from '../../../../src/companions/cluster-api/rules/usable-cluster.ts';
import {
  type KnownAudience,
  sharedAudiences,
} from '../../../../src/companions/cluster-api/rules/shared-audiences.ts';

const from = (path: string): { namespace: string; name: string } => {
  const [namespace = '', name = ''] = path.split('/');
  return { namespace, name };
};
const found = (path: string, audience?: string): UsableCluster => ({
  cluster: { ...from(path), deleting: false },
  ...{ endpoint: 'https://192.0.2.1:6443', ca: '' },
  ...(audience !== undefined && {
    oidc: { issuer: 'https://idp.example.org', audience, usernameClaim: 'sub', usernamePrefix: '' },
  }),
});
const known = (name: string, audience: string, path?: string): KnownAudience => ({
  ...{ name, audience },
  ...(path !== undefined && { from: from(path) }),
});
const refused = (
  clusters: readonly UsableCluster[],
  present: readonly KnownAudience[] = [],
  allowed: readonly string[] = [],
): readonly string[] =>
  [...sharedAudiences(clusters, present, allowed).keys()].map(({ cluster }) => cluster.name);

describe('an audience that another cluster has', () => {
  it('is refused to a Cluster of another namespace, and the one that has it keeps it', () => {
    const clusters = [found('a/first', 'kube'), found('b/thief', 'kube')];
    expect(refused(clusters, [known('first', 'kube', 'a/first')])).toEqual(['thief']);
    expect(refused(clusters.toReversed(), [known('x', 'kube', 'a/first')])).toEqual(['thief']);
  });

  it('is refused to both if neither has it yet, or both have it', () => {
    const clusters = [found('a/one', 'kube'), found('b/two', 'kube')];
    const both = [known('one', 'kube', 'a/one'), known('two', 'kube', 'b/two')];
    expect(refused(clusters)).toEqual(['one', 'two']);
    expect(refused(clusters, both)).toEqual(['one', 'two']);
  });

  it('is refused if it is that of a cluster that an admin wrote', () => {
    expect(refused([found('a/one', 'kube')], [known('own', 'kube')])).toEqual(['one']);
  });

  it('is refused to a Cluster that took it later, and had another one', () => {
    const present = [known('first', 'kube', 'a/first'), known('later', 'b', 'b/later')];
    expect(refused([found('b/later', 'kube')], present)).toEqual(['later']);
  });

  it('is accepted in the same namespace, if it is given, and without OIDC', () => {
    const clusters = [found('a/one', 'kube'), found('a/two', 'kube'), found('b/three')];
    expect(refused(clusters, [known('one', 'kube', 'a/one')])).toEqual([]);
    expect(refused([found('b/x', 'kube')], [known('own', 'kube')], ['kube'])).toEqual([]);
  });
});
