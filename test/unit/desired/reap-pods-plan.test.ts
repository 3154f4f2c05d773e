import { describe, expect, it } from 'vitest';
import type { LiveObject } from '../../../src/desired/kube-object.ts';
import { namespaceAndName, planPods } from '../../../src/desired/reap-pods-plan.ts';

const day = 86_400;

function live(
  name: string,
  more: { age?: number; job?: string; lifetime?: string } = {},
): LiveObject {
  const { age = day, job, lifetime } = more;
  return {
    metadata: {
      ...{ name, namespace: 'u-alice', uid: `${name}-uid`, age },
      labels: job === undefined ? {} : { job },
      annotations: lifetime === undefined ? {} : { 'pod.kubernetes.io/lifetime': lifetime },
    },
  };
}

function plan(pods: readonly LiveObject[], objects: readonly LiveObject[] = []) {
  return planPods({
    namespaces: new Set(['u-alice']),
    selected: new Set(pods.map(namespaceAndName)),
    ...{ pods, objects, ageOf: ({ metadata }) => Number(metadata.age) },
  });
}

describe('pods that are over', () => {
  it('are those past their lifetime, the oldest first', () => {
    const { expired } = plan([
      live('young', { age: 10, lifetime: '1h' }),
      live('old', { age: 3601, lifetime: '1h' }),
      live('older', { age: 7200, lifetime: '1h' }),
      live('without'),
    ]);
    expect(expired.map(({ name }) => name)).toEqual(['older', 'old']);
  });

  it('take along what is of their job, unless another pod is of the same one', () => {
    const { expired } = plan([
      live('a', { lifetime: '1h', job: 'shared' }),
      live('b', { lifetime: '100h', job: 'shared' }),
      live('c', { lifetime: '1h', job: 'own' }),
    ]);
    expect(expired.map(({ name, job }) => [name, job])).toEqual([
      ['a', undefined],
      ['c', 'own'],
    ]);
  });
});

describe('what jobs left behind', () => {
  const orphans = (pods: readonly LiveObject[], ...objects: LiveObject[]): string[] =>
    plan(pods, objects).orphaned.map(({ job }) => job);

  it('is what bears the names of the adapter and has no pod', () => {
    expect(orphans([], live('x-service', { job: 'x' }), live('y-configmap', { job: 'y' }))).toEqual(
      ['x', 'y'],
    );
    expect(orphans([live('x', { job: 'x' })], live('x-service', { job: 'x' }))).toEqual([]);
  });

  it('is no ConfigMap of the user that has a label job too', () => {
    expect(orphans([], live('my-settings', { job: 'x' }))).toEqual([]);
  });

  it('is nothing whose pod may be about to come', () => {
    expect(orphans([], live('x-service', { job: 'x', age: 599 }))).toEqual([]);
    expect(orphans([], live('x-service', { job: 'x', age: 600 }))).toEqual(['x']);
  });
});
