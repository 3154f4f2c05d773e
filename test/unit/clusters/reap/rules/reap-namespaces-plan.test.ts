import { expect, it } from 'vitest';
import {
  type NamespacesInput,
  planNamespaceReap,
} from '../../../../../src/clusters/reap/rules/reap-namespaces-plan.ts';

const hour = 3600;
const now = 1_800_000_000;
const secondsOf = (timestamp: string): number => Date.parse(timestamp) / 1000;

/** Which of these namespaces are deleted: ages and times since the last login are in hours. */
function deleted(
  namespaces: Readonly<Record<string, { readonly age: number; readonly login: number }>>,
  input: Pick<NamespacesInput, 'after' | 'lastLogin' | 'names'>,
): string[] {
  const objects = Object.entries(namespaces).map(([name, { login }]) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name,
      annotations: { 'openondemand.org/last-hook-execution': String(now - login * hour) },
    },
  }));
  const empty = new Set<string>();
  const none = { youngest: new Map(), busy: empty, withVolumes: empty, withClaims: empty };
  const ageOf = ({ metadata }: { metadata: { name: string } }): number =>
    (namespaces[metadata.name]?.age ?? 0) * hour;
  const plan = planNamespaceReap({ namespaces: objects, ...none, now, ageOf, secondsOf, ...input });
  return plan.unused.map(({ name }) => name);
}

// OnDemand's example for k8-namespace-reaper.
const osc = { after: 8 * hour, lastLogin: 4 * hour };

it('has an own time since the last login, as lastUsedThreshold of k8-namespace-reaper', () => {
  const namespaces = {
    'user-gone': { age: 9, login: 5 },
    'user-back': { age: 9, login: 3 },
    'user-new': { age: 7, login: 7 },
  };

  expect(deleted(namespaces, osc)).toEqual(['user-gone']);
  expect(deleted(namespaces, { ...osc, lastLogin: osc.after })).toEqual([]);
});

it('deletes only namespaces whose name matches, as namespaceRegexp does', () => {
  const namespaces = { 'user-ada': { age: 99, login: 99 }, 'team-ada': { age: 99, login: 98 } };

  expect(deleted(namespaces, { ...osc, names: /^(?:user-.+)$/ })).toEqual(['user-ada']);
  expect(deleted(namespaces, osc)).toEqual(['user-ada', 'team-ada']);
});

it('names a namespace that was deleted and still exists, such as one that a finalizer of its user holds', () => {
  const deletedAt = (minutes: number) => ({
    metadata: {
      name: `user-${minutes}`,
      deletionTimestamp: new Date((now - minutes * 60) * 1000).toISOString(),
    },
  });
  const none = new Set<string>();
  const plan = planNamespaceReap({
    ...{ namespaces: [deletedAt(10), deletedAt(20)], youngest: new Map(), busy: none },
    ...{ withVolumes: none, withClaims: none, now, secondsOf, ageOf: () => 0, ...osc },
  });
  expect(plan).toEqual({
    unused: [],
    left: [{ name: 'user-20', reason: expect.stringContaining('finalizers') as string }],
  });
});
