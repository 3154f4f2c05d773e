import type { KubeObject, LiveObject } from './kube-object.ts';

/**
 * Lists that server-side apply merges by a key instead of replacing them: what others put there
 * stays, so ours need only be among them.
 */
const mergedLists: Readonly<Record<string, string>> = {
  'ServiceAccount/imagePullSecrets': 'name',
};

/**
 * True where applying `desired` would change `live`: a field that we decide is missing or different,
 * or a list that we own whole has other elements. Fields that we say nothing about do not count.
 */
export function differs(desired: KubeObject, live: LiveObject): boolean {
  return Object.entries(desired).some(([field, wanted]) => {
    // A live object in a list answers without its kind and version.
    if (field === 'kind' || field === 'apiVersion') return false;
    const key = mergedLists[`${desired.kind}/${field}`];
    return key === undefined
      ? !covers(live[field], wanted)
      : !includesAll(live[field], wanted as readonly Record<string, unknown>[], key);
  });
}

function covers(live: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(live) &&
      live.length === wanted.length &&
      wanted.every((element, index) => covers(live[index], element))
    );
  }
  if (isMapping(wanted)) {
    // An empty selector means everything: a narrower live one is not the same.
    if (Object.keys(wanted).length === 0) return isMapping(live) && Object.keys(live).length === 0;
    return (
      isMapping(live) && Object.entries(wanted).every(([key, value]) => covers(live[key], value))
    );
  }
  return live === wanted;
}

function includesAll(
  live: unknown,
  wanted: readonly Record<string, unknown>[],
  key: string,
): boolean {
  return (
    Array.isArray(live) &&
    wanted.every((element) =>
      live.some((other: unknown) => isMapping(other) && other[key] === element[key]),
    )
  );
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
