import type { V1LocalObjectReference } from '@kubernetes/client-node';
import type { KubeJson } from './kube-json.ts';
import type { KubeObject, LiveObject } from './kube-object.ts';
import { sameQuantity } from './quantity.ts';

/**
 * What to apply where `live` is there already. A ServiceAccount's `imagePullSecrets` is one list that
 * apply replaces whole (`listType=atomic`): ours is added to what others put there, on the condition
 * that nobody changes the account meanwhile.
 */
export function keepReferences(desired: KubeObject, live: LiveObject): KubeObject {
  if (desired.kind !== 'ServiceAccount' || desired.imagePullSecrets === undefined) return desired;
  const theirs = (live.imagePullSecrets ?? []) as readonly KubeJson<V1LocalObjectReference>[];
  const missing = desired.imagePullSecrets.filter(
    (ours) => !theirs.some(({ name }) => name === ours.name),
  );
  const { resourceVersion } = live.metadata;
  return {
    ...desired,
    metadata: {
      ...desired.metadata,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    imagePullSecrets: [...theirs, ...missing],
  };
}

/** Kinds whose values are quantities, and to whose list elements the API server adds defaults. */
const limits: readonly unknown[] = ['ResourceQuota', 'LimitRange'];

/**
 * True where applying `desired` would change `live`: a field that we decide is missing or different,
 * or a list has other elements. A list is ours whole, so that a field more in one of its elements is
 * a difference too: `namespaceSelector: {}` beside a `podSelector` opens the door to everybody. Other
 * fields that we say nothing about do not count.
 */
export function differs(desired: KubeObject, live: LiveObject): boolean {
  const covers = limits.includes(desired.kind) ? coversAmounts : coversExactly;
  return Object.entries(desired).some(
    // What kind an object is was decided by its path.
    ([field, wanted]) => field !== 'kind' && field !== 'apiVersion' && !covers(live[field], wanted),
  );
}

const coversExactly = coverage(equal, (live, wanted) => live === wanted);
const coversAmounts = coverage(
  (live, wanted) => coversAmounts(live, wanted),
  (live, wanted) => live === wanted || sameQuantity(live, wanted),
);

type Compare = (live: unknown, wanted: unknown) => boolean;

function coverage(sameElement: Compare, sameValue: Compare): Compare {
  const covers: Compare = (live, wanted) => {
    if (Array.isArray(wanted)) {
      return (
        Array.isArray(live) &&
        live.length === wanted.length &&
        wanted.every((element, index) => sameElement(live[index], element))
      );
    }
    if (!isMapping(wanted)) return sameValue(live, wanted);
    // An empty selector means everything: a narrower live one is not the same.
    if (Object.keys(wanted).length === 0) return isMapping(live) && Object.keys(live).length === 0;
    return (
      isMapping(live) && Object.entries(wanted).every(([key, value]) => covers(live[key], value))
    );
  };
  return covers;
}

function equal(live: unknown, wanted: unknown): boolean {
  if (!isMapping(live) || !isMapping(wanted)) return coversExactly(live, wanted);
  const keys = Object.keys(wanted);
  return (
    Object.keys(live).length === keys.length && keys.every((key) => equal(live[key], wanted[key]))
  );
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
