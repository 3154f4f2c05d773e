import { describe, expect, it } from 'vitest';
import { JobObjects } from '../../../../../src/clusters/reap/rules/orphaned-job-objects.ts';
import type { LiveObject } from '../../../../../src/kube/objects/kube-object.ts';
import {
  planOrphans,
  planPods,
  PodTally,
} from '../../../../../src/clusters/reap/rules/reap-pods-plan.ts';

const day = 86_400;
const now = 1_800_000_000;
const namespaces = new Set(['u-alice', 'u-bob', 'u-mallory']);
const secondsOf = (text = ''): number => Date.parse(text) / 1000;
const time = { now, secondsOf };
const at = (seconds: number): string => new Date(seconds * 1000).toISOString();

interface Wanted {
  readonly namespace?: string;
  readonly age?: number;
  readonly job?: string;
  readonly lifetime?: string;
  readonly by?: string;
  /** Seconds that its deletion gave, and seconds since they began. */
  readonly deleted?: readonly [grace: number, ago: number];
  readonly finalizers?: readonly string[];
}

function live(name: string, more: Wanted = {}): LiveObject {
  const { namespace = 'u-alice', age = day, job, lifetime, by = 'open-ondemand' } = more;
  const { deleted, finalizers } = more;
  return {
    metadata: {
      ...{ name, namespace, uid: `${name}-uid`, creationTimestamp: at(now - age) },
      labels: job === undefined ? {} : { job, 'app.kubernetes.io/managed-by': by },
      annotations: lifetime === undefined ? {} : { 'pod.kubernetes.io/lifetime': lifetime },
      ...(finalizers === undefined ? {} : { finalizers }),
      ...(deleted === undefined
        ? {}
        : {
            deletionTimestamp: at(now - deleted[1] + deleted[0]),
            deletionGracePeriodSeconds: deleted[0],
          }),
    },
  };
}

function seen(pods: readonly LiveObject[]): PodTally {
  const all = new PodTally(namespaces, time);
  for (const pod of pods) all.add(pod);
  return all;
}

function plan(pods: readonly LiveObject[], { chosen = pods, most = Infinity } = {}) {
  return planPods(seen(chosen), seen(pods), most);
}

describe('pods that are over', () => {
  it('are those past their lifetime, the oldest first', () => {
    const { expired } = plan([
      live('young', { age: 10, lifetime: '1h' }),
      live('old', { age: 3601, lifetime: '1h' }),
      live('older', { age: 7200, lifetime: '1h' }),
      live('without'),
      live('elsewhere', { namespace: 'kube-system', lifetime: '1h' }),
    ]);
    expect(expired.map(({ name }) => name)).toEqual(['older', 'old']);
  });

  it('are only those of the selector, where there is one', () => {
    const pods = ['a', 'b'].map((name) => live(name, { lifetime: '1h' }));

    const { expired } = plan(pods, { chosen: pods.slice(1) });
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

  it('share the places of a run: who has many waits for the own ones only', () => {
    const many = Array.from({ length: 40 }, (_, n) =>
      live(`m-${n}`, { namespace: 'u-mallory', lifetime: '1h', age: 2 * day - n }),
    );
    const { expired, later } = plan(
      [...many, live('a', { lifetime: '1h' }), live('b', { namespace: 'u-bob', lifetime: '1h' })],
      { most: 4 },
    );

    expect(expired.map(({ name }) => name)).toEqual(['m-0', 'a', 'b', 'm-1']);
    expect(later).toBe(38);
  });

  it('are kept in memory up to a number, and there are no names without end', () => {
    const over = { namespace: 'u-mallory', lifetime: '1h' };
    const pods = Array.from({ length: 1_500 }, (_, n) => live(`m-${n}`, over));
    const odd = Array.from({ length: 50 }, (_, n) => live(`o-${n}`, { lifetime: 'x'.repeat(n) }));
    const young = Array.from({ length: 1_500 }, (_, n) => live(`a-${n}`, { lifetime: '48h' }));

    const { expired, later, unreadable } = plan([
      ...[...young, ...pods, ...odd],
      live('z', { lifetime: '1h' }),
    ]);

    expect([expired.length, later, unreadable.length]).toEqual([1_001, 500, 10]);
    expect(expired.map(({ name }) => name)).toContain('z');
  });

  it('have 30 seconds for their end, and one where they are still there a minute later', () => {
    const lifetime = '1h';
    const { expired, stuck } = plan([
      live('first', { lifetime }),
      live('for-years', { lifetime, deleted: [1_000_000_000, 10] }),
      live('ends', { lifetime, deleted: [30, 20] }),
      live('slow', { lifetime, deleted: [30, 100] }),
      live('has-time', { lifetime: '48h', deleted: [1_000_000_000, 10] }),
    ]);

    expect(expired.map((pod) => [pod.name, pod.gracePeriodSeconds, pod.again])).toEqual([
      ['first', 30, false],
      ['for-years', 30, true],
      ['slow', 1, true],
    ]);
    expect(stuck).toEqual([]);
  });

  it('take no place where nothing more can be done: that is said', () => {
    const held = { lifetime: '1h', deleted: [0, 100] as const, finalizers: ['example.org/mine'] };
    const { expired, stuck } = plan([
      ...Array.from({ length: 40 }, (_, n) => live(`held-${n}`, held)),
      live('dead-node', { lifetime: '1h', deleted: [1, 100] }),
      live('ending', { lifetime: '1h', deleted: [1, 10] }),
    ]);

    expect(expired).toEqual([]);
    expect(stuck).toEqual([
      { namespace: 'u-alice', first: 'held-0', count: 40, finalizers: true },
      { namespace: 'u-alice', first: 'dead-node', count: 1, finalizers: false },
    ]);
  });
});

describe('what jobs left behind', () => {
  const found = (pods: readonly LiveObject[], objects: readonly LiveObject[]): JobObjects => {
    const { jobs } = seen(pods);
    const left = new JobObjects('services', { namespaces, jobs, ending: new Set(), time });
    for (const object of objects) left.add(object);
    return left;
  };
  const orphans = (pods: readonly LiveObject[], ...objects: LiveObject[]): string[] =>
    planOrphans([found(pods, objects)], 30).orphaned.map(({ job }) => job);

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

  it('is nothing that is deleted already: a finalizer may hold it for ever', () => {
    const held = Array.from({ length: 30 }, (_, n) =>
      live(`held-${n}`, { job: `held-${n}`, deleted: [0, 100], finalizers: ['example.org/mine'] }),
    );
    expect(orphans([], ...held, live('x-service', { job: 'x' }))).toEqual(['x']);
  });

  it('shares the places of a run among the namespaces', () => {
    const many = Array.from({ length: 40 }, (_, n) =>
      live(`m-${n}`, { namespace: 'u-mallory', job: `m-${n}` }),
    );
    const { orphaned, later } = planOrphans(
      [found([], [...many, live('x-service', { job: 'x' })]), found([], many)],
      30,
    );

    expect(orphaned.slice(0, 3).map(({ job }) => job)).toEqual(['m-0', 'x', 'm-1']);
    expect([orphaned.length, later]).toEqual([30, 11]);
  });

  it('is looked at up to a number in each namespace, which alone is left with the rest', () => {
    const many = Array.from({ length: 1_200 }, (_, n) =>
      live(`m-${n}`, { namespace: 'u-mallory', job: `m-${n}` }),
    );
    const left = found([], [...many, live('x-service', { job: 'x' })]);

    expect(left.crowded).toEqual(['u-mallory']);
    expect(left.orphaned).toHaveLength(1_001);
  });
});
