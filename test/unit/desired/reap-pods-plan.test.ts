import { describe, expect, it } from 'vitest';
import type { LiveObject } from '../../../src/desired/kube-object.ts';
import { planPods } from '../../../src/desired/reap-pods-plan.ts';

const day = 86_400;

function live(
  name: string,
  more: { age?: number; job?: string; lifetime?: string; by?: string } = {},
): LiveObject {
  const { age = day, job, lifetime, by = 'open-ondemand' } = more;
  return {
    metadata: {
      ...{ name, namespace: 'u-alice', uid: `${name}-uid`, age },
      labels: job === undefined ? {} : { job, 'app.kubernetes.io/managed-by': by },
      annotations: lifetime === undefined ? {} : { 'pod.kubernetes.io/lifetime': lifetime },
    },
  };
}

function plan(
  pods: readonly LiveObject[],
  objects: readonly LiveObject[] = [],
  selected?: ReadonlySet<string>,
) {
  return planPods({
    namespaces: new Set(['u-alice']),
    ...(selected === undefined ? {} : { selected }),
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

  it('are only those of the selector, where there is one', () => {
    const pods = ['a', 'b'].map((name) => live(name, { lifetime: '1h' }));

    const { expired } = plan(pods, [], new Set(['u-alice/b']));
    expect(expired.map(({ name }) => name)).toEqual(['b']);
  });

  it('take along nothing of a user’s own, which may have a label job, too', () => {
    const own = live('my-pod', { lifetime: '1h', job: 'training', by: 'me' });
    const adapter = live('j-1', { lifetime: '1h', job: 'j-1', by: '' });

    expect(plan([own, adapter]).expired.map(({ name, job }) => [name, job])).toEqual([
      ['my-pod', undefined],
      ['j-1', 'j-1'],
    ]);
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
    expect(orphans([], live('my-settings', { job: 'x', by: 'me' }))).toEqual([]);
  });

  it('is nothing whose pod may be about to come', () => {
    expect(orphans([], live('x-service', { job: 'x', age: 599 }))).toEqual([]);
    expect(orphans([], live('x-service', { job: 'x', age: 600 }))).toEqual(['x']);
  });
});
