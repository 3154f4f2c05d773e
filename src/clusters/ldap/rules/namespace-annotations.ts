import type { ConfigMapKind } from '../../../config/schema/ldap-schema.ts';
import type { LiveObject } from '../../../kube/objects/kube-object.ts';
import { annotations } from '../../../kube/objects/well-known-names.ts';
import type { PlannedLosses } from '../../../directory/rules/refuse-shrunken-directory.ts';
import { caseIgnoreKey } from '../../../directory/rules/ldap-dn.ts';
import type { LdapUser, LdapUsers } from '../../../directory/rules/ldap-users.ts';
import type { HeldRuns } from '../../../directory/rules/possible-people.ts';

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
  /** Not marked as removed, with the reason: their users were not found, but may be somebody in the directory. */
  readonly held: ReadonlyMap<string, string>;
  /** Of those, owners who may be somebody by a `cn` or `mail` alone, and for how many runs. */
  readonly heldRuns: HeldRuns;
}

/**
 * Plans the annotations of the users' namespaces. Only the owner annotation says whose a namespace is.
 * The namespace of a missing user is marked, unless somebody in the directory may be that user; nothing is ever deleted.
 *
 * @param now Epoch seconds.
 * @param before `heldRuns` of the last run.
 */
export function planNamespaces(
  namespaces: readonly LiveObject[],
  { users, possible }: LdapUsers,
  now: number,
  before: HeldRuns,
): NamespacePlan {
  const changes: NamespaceChange[] = [];
  const ownerless: string[] = [];
  const held = new Map<string, string>();
  const heldRuns = new Map<string, number>();
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
    const user = users.get(caseIgnoreKey(owner));
    const reason =
      user === undefined
        ? possible.reasonToHold({ owner, uid: live[annotations.uid] }, before, heldRuns)
        : undefined;
    if (reason !== undefined) held.set(namespace, reason);
    const wanted =
      user === undefined && reason === undefined
        ? { [removedAnnotation]: live[removedAnnotation] ?? String(Math.floor(now)) }
        : { ...(user && identityOf(user)), [removedAnnotation]: undefined };
    const change = changeOf({ namespace, owner, live }, wanted);
    if (change !== undefined) changes.push(change);
    else if (reason === undefined) unchanged += 1;
  }
  return { changes, unchanged, active, ownerless, held, heldRuns };
}

/** The namespaces that the plan marks as removed. */
export function namespaceLosses({ changes, active }: NamespacePlan): PlannedLosses {
  const losses = changes.filter(({ kind }) => kind === 'mark').length;
  return { command: 'ldap-sync', what: 'namespace', losses, active };
}

function identityOf({ uid, gid, groups }: LdapUser): Annotations {
  return {
    [annotations.uid]: String(uid),
    [annotations.gid]: String(gid),
    [annotations.groups]: groups.join(','),
  };
}

function changeOf(
  { namespace, owner, live }: { namespace: string; owner: string; live: Annotations },
  all: Annotations,
): NamespaceChange | undefined {
  const different = Object.keys(all).filter((key) => live[key] !== all[key]);
  if (different.length === 0) return undefined;
  const pick = (from: Annotations): Annotations =>
    Object.fromEntries(different.map((key) => [key, from[key]]));
  const isMarked = live[removedAnnotation] !== undefined;
  const kind = isMarked ? 'unmark' : all[removedAnnotation] === undefined ? 'update' : 'mark';
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

/** The value of each mapper of k8-ldap-configmap for a user (its internal/mapper). */
const values: Readonly<Record<ConfigMapKind, (user: LdapUser) => string>> = {
  'user-uid': ({ uid }) => String(uid),
  'user-gid': ({ gid }) => String(gid),
  'user-groups': ({ groupNames }) => JSON.stringify(groupNames),
  'user-all-groups': ({ groupNames }) => JSON.stringify(groupNames),
  'user-gids': ({ groups }) => JSON.stringify(groups.map(String)),
  'user-home': ({ home }) => home,
};

interface ConfigMapContents {
  /** `user-uid-map`, as k8-ldap-configmap calls it. */
  readonly name: string;
  readonly data: Readonly<Record<string, string>>;
  /** Users whose names cannot be keys of a ConfigMap. */
  readonly unnameable: readonly string[];
}

interface MapOptions {
  readonly kind: ConfigMapKind;
  /** Prefix of each user name, for policies. */
  readonly userPrefix: string;
  /** The present data: kept for names that may be somebody's whose entry is refused. */
  readonly live: Readonly<Record<string, string>>;
  /** `heldRuns` of the last run. */
  readonly before: HeldRuns;
}

/** A ConfigMap's `data` as k8-ldap-configmap makes it, with names in lower case, as namespaces have them. */
export function directoryMap(
  { users, possible }: LdapUsers,
  { kind, userPrefix, live, before: heldRuns }: MapOptions,
): ConfigMapContents {
  const data = new Map<string, string>();
  const unnameable: string[] = [];
  for (const [key, before] of Object.entries(live)) {
    const owner = key.startsWith(userPrefix) ? key.slice(userPrefix.length) : undefined;
    if (owner === undefined || users.has(caseIgnoreKey(owner))) continue;
    if (possible.reasonToHold({ owner }, heldRuns, new Map()) !== undefined) data.set(key, before);
  }
  for (const [name, user] of users) {
    const key = userPrefix + name;
    // IsConfigMapKey of k8s.io/apimachinery: no `@`, no `:`.
    if (/^[-._a-zA-Z0-9]{1,253}$/.test(key)) data.set(key, values[kind](user));
    else unnameable.push(user.name);
  }
  return { name: `${kind}-map`, data: Object.fromEntries(data), unnameable };
}
