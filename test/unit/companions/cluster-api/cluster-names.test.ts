import { describe, expect, it } from 'vitest';
import {
  clusterNames,
  pathOf,
} from '../../../../src/companions/cluster-api/rules/cluster-names.ts';

const namesOf = (clusters: readonly string[], files: Readonly<Record<string, string>> = {}) => {
  const held = new Map(
    Object.entries(files).map(([name, from]) => [name, from === '' ? undefined : from]),
  );
  const objects = clusters.map((path) => {
    const [namespace = '', name = ''] = path.split('/');
    return { namespace, name, deleting: false };
  });
  return Object.fromEntries(
    [...clusterNames(objects, held)].map(([cluster, { name, problem }]) => [
      pathOf(cluster),
      problem === undefined ? name : `! ${problem}`,
    ]),
  );
};

describe("a cluster's name", () => {
  it('is that of its Cluster, with the namespace if there are new ones of the same name', () => {
    expect(namesOf(['a/one', 'a/twin', 'b/twin'])).toEqual({
      'a/one': 'one',
      'a/twin': 'a-twin',
      'b/twin': 'b-twin',
    });
  });

  it('stays with the Cluster that has it, whatever Clusters others make', () => {
    const files = { 'gpu-prod': 'default/gpu-prod' };
    expect(namesOf(['default/gpu-prod', 'gpu/gpu-prod', 'gpu/prod', 'x/prod'], files)).toEqual({
      'default/gpu-prod': 'gpu-prod',
      'gpu/gpu-prod': 'gpu-gpu-prod',
      'gpu/prod': '! clusters.d has a cluster gpu-prod already, which was not made for it',
      'x/prod': 'x-prod',
    });
    // Also while its Cluster cannot be used, or is gone and its file not removed yet.
    expect(namesOf(['gpu/gpu-prod'], files)).toEqual({ 'gpu/gpu-prod': 'gpu-gpu-prod' });
    const longer = { 'b-twin': 'b/twin', twin: 'a/twin' };
    expect(namesOf(['a/twin', 'b/twin'], longer)).toEqual({ 'a/twin': 'twin', 'b/twin': 'b-twin' });
    expect(namesOf(['b/twin'], longer)).toEqual({ 'b/twin': 'b-twin' });
  });

  it("is never one of the site's own, and never that of two", () => {
    const own = 'clusters.d has a cluster own already, which was not made for it';
    expect(namesOf(['a/own'], { own: '' })).toEqual({ 'a/own': `! ${own}` });
    const all = namesOf(['a/b-c', 'x/b-c', 'a-b/c', 'x/c']);
    expect(all).toEqual({
      'a/b-c': '! the Cluster a-b/c would have the name a-b-c, too',
      'x/b-c': 'x-b-c',
      'a-b/c': '! the Cluster a/b-c would have the name a-b-c, too',
      'x/c': 'x-c',
    });
    // A Cluster of exactly this name comes first.
    expect(namesOf(['gpu/prod', 'x/prod', 'default/gpu-prod'])).toMatchObject({
      'default/gpu-prod': 'gpu-prod',
      'gpu/prod': '! clusters.d has a cluster gpu-prod already, which was not made for it',
    });
  });

  it('has room in a directory', () => {
    const name = 'a'.repeat(220);
    expect(namesOf([`a/${name}`])).toEqual({ [`a/${name}`]: '! its name is too long' });
  });
});
