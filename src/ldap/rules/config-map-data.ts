import type { ConfigMapKind } from '../../config/schema/ldap-schema.ts';
import { caseIgnoreKey } from './case-ignore-key.ts';
import type { LdapUsers, LdapUser } from './ldap-users.ts';

/** The value of each mapper of k8-ldap-configmap for a user (its internal/mapper). */
const values: Readonly<Record<ConfigMapKind, (user: LdapUser) => string>> = {
  'user-uid': ({ uid }) => String(uid),
  'user-gid': ({ gid }) => String(gid),
  'user-groups': ({ groupNames }) => JSON.stringify(groupNames),
  'user-all-groups': ({ groupNames }) => JSON.stringify(groupNames),
  'user-gids': ({ groups }) => JSON.stringify(groups.map(String)),
  'user-home': ({ home }) => home,
};

export interface ConfigMapContents {
  /** `user-uid-map`, as k8-ldap-configmap calls it. */
  readonly name: string;
  readonly data: Readonly<Record<string, string>>;
  /** Users whose names cannot be keys of a ConfigMap. */
  readonly unnameable: readonly string[];
}

export interface MapOptions {
  readonly kind: ConfigMapKind;
  /** Prefix of each user name, for policies. */
  readonly userPrefix: string;
  /** The present data: kept for names that may be somebody's whose entry is refused. */
  readonly live: Readonly<Record<string, string>>;
}

/** A ConfigMap's `data` as k8-ldap-configmap makes it, with names in lower case, as namespaces have them. */
export function directoryMap(
  { users, possible }: LdapUsers,
  { kind, userPrefix, live }: MapOptions,
): ConfigMapContents {
  const data: Record<string, string> = {};
  const unnameable: string[] = [];
  for (const [key, before] of Object.entries(live)) {
    const owner = key.startsWith(userPrefix) ? key.slice(userPrefix.length) : undefined;
    if (owner === undefined || users.has(caseIgnoreKey(owner))) continue;
    if (possible.reasonToHold({ owner }) !== undefined) data[key] = before;
  }
  for (const [name, user] of users) {
    const key = userPrefix + name;
    // IsConfigMapKey of k8s.io/apimachinery: no `@`, no `:`.
    if (/^[-._a-zA-Z0-9]{1,253}$/.test(key)) data[key] = values[kind](user);
    else unnameable.push(user.name);
  }
  return { name: `${kind}-map`, data, unnameable };
}
