import type { V1LocalObjectReference } from '@kubernetes/client-node';
import { parseQuantityNano } from '../../config/schema/parse-quantity.ts';
import { isMapping } from '../../system/text/mapping.ts';
import type { KubeJson, KubeObject, LiveObject } from './kube-object.ts';

/**
 * The object to apply over `live`. A ServiceAccount's `imagePullSecrets` is one list that an apply
 * replaces as a whole (`listType=atomic`): ours is added to the others' references, if nobody changes
 * the account meanwhile.
 */
export function mergePullSecrets(desired: KubeObject, live: LiveObject): KubeObject {
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
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
    imagePullSecrets: [...theirs, ...missing],
  };
}

/** Kinds whose values are quantities, and whose list elements get defaults from the API server. */
const limits: readonly unknown[] = ['ResourceQuota', 'LimitRange'];

/**
 * True if applying `desired` would change `live`: a desired field is missing or different, or a list has
 * other elements. A list is compared as a whole, so that an additional field in an element is a
 * difference too: `namespaceSelector: {}` beside a `podSelector` would admit every namespace. Other
 * fields of `live` are ignored.
 */
export function differs(desired: KubeObject, live: LiveObject): boolean {
  // A claim is created, and then the user's: a change could resize or lose it.
  if (desired.kind === 'PersistentVolumeClaim') return false;
  const covers = limits.includes(desired.kind) ? coversAmounts : coversExactly;
  return Object.entries(desired).some(
    // The kind is given by the object's path.
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
    // An empty selector in `desired` matches everything; a selector with terms in `live` does not, so it is a difference.
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

/**
 * True if both are Kubernetes quantities of the same amount: the API server stores `1000m` as `1`
 * and `0.5` as `500m`. A YAML number is a quantity too.
 */
function sameQuantity(one: unknown, other: unknown): boolean {
  const amount = parseQuantityNano(one);
  return amount !== undefined && amount === parseQuantityNano(other);
}
