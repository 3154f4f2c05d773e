import type { LdapUsers, LdapUser } from './ldap-users.ts';
import type { LiveObject } from '../../desired/kube-object.ts';
import { annotations } from '../../desired/well-known-names.ts';

/** When the user was first missing in the directory: epoch seconds, as a string. */
const removedAnnotation = 'openondemand.org/removed';

/** A change of a namespace's annotations; others stay as they are. */
export interface NamespaceChange {
  readonly namespace: string;
  readonly owner: string;
  readonly kind: 'update' | 'mark' | 'unmark';
  /** Values to be written; undefined removes the annotation. */
  readonly wanted: Readonly<Record<string, string | undefined>>;
  /** The present values. */
  readonly before: Readonly<Record<string, string | undefined>>;
}

export interface NamespacePlan {
  readonly changes: readonly NamespaceChange[];
  /** How many need no change. */
  readonly unchanged: number;
  /** Namespaces whose user is not marked as removed, before this. */
  readonly active: number;
  /** Namespaces without an owner, not made by Berth. Nothing is written there. */
  readonly ownerless: readonly string[];
  /** Namespaces of users whose entries are refused: nothing is written there. */
  readonly held: readonly string[];
}

/**
 * Plans the annotations of the users' namespaces. Only the owner annotation says whose a namespace is.
 * The namespace of a missing user is marked; nothing is ever deleted.
 *
 * @param now Epoch seconds.
 */
export function planNamespaces(
  namespaces: readonly LiveObject[],
  { users, refused }: LdapUsers,
  now: number,
): NamespacePlan {
  const refusedUsers = new Set(
    refused.flatMap(({ what, name }) => (what === 'user' ? [name] : [])),
  );
  const changes: NamespaceChange[] = [];
  const ownerless: string[] = [];
  const held: string[] = [];
  let unchanged = 0;
  let active = 0;
  for (const { metadata } of namespaces) {
    const { name: namespace, annotations: live = {} } = metadata;
    if (metadata.deletionTimestamp !== undefined) continue;
    const owner = live[annotations.owner];
    if (owner === undefined || owner === '') {
      ownerless.push(namespace);
      continue;
    }
    if (live[removedAnnotation] === undefined) active += 1;
    const user = users.get(owner);
    if (user === undefined && refusedUsers.has(owner)) {
      held.push(namespace);
      continue;
    }
    const change = changeOf({ namespace, owner, live }, user, now);
    if (change === undefined) unchanged += 1;
    else changes.push(change);
  }
  return { changes, unchanged, active, ownerless, held };
}

function changeOf(
  { namespace, owner, live }: { namespace: string; owner: string; live: Annotations },
  user: LdapUser | undefined,
  now: number,
): NamespaceChange | undefined {
  const isMarked = live[removedAnnotation] !== undefined;
  if (user === undefined) {
    if (isMarked) return undefined;
    const wanted = { [removedAnnotation]: String(Math.floor(now)) };
    return { namespace, owner, kind: 'mark', wanted, before: {} };
  }
  const all: Annotations = {
    [annotations.uid]: String(user.uid),
    [annotations.gid]: String(user.gid),
    [annotations.groups]: user.groups.join(','),
    [removedAnnotation]: undefined,
  };
  const different = Object.keys(all).filter((key) => live[key] !== all[key]);
  if (different.length === 0) return undefined;
  const pick = (from: Annotations): Annotations =>
    Object.fromEntries(different.map((key) => [key, from[key]]));
  const kind = isMarked ? 'unmark' : 'update';
  return { namespace, owner, kind, wanted: pick(all), before: pick(live) };
}

type Annotations = Readonly<Record<string, string | undefined>>;

/**
 * The change as RFC 6902 operations, applied in one step. They test that the owner and the replaced
 * values are still those that were read.
 */
export function changeOperations({ owner, wanted, before }: NamespaceChange): readonly object[] {
  const path = (key: string): string =>
    `/metadata/annotations/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  return [
    { op: 'test', path: path(annotations.owner), value: owner },
    ...Object.entries(before).flatMap(([key, value]) =>
      value === undefined ? [] : [{ op: 'test', path: path(key), value }],
    ),
    ...Object.entries(wanted).map(([key, value]) =>
      value === undefined
        ? { op: 'remove', path: path(key) }
        : { op: 'add', path: path(key), value },
    ),
  ];
}
