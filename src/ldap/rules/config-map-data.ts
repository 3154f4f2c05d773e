import type { ConfigMapKind } from '../../config/ldap-schema.ts';
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
  /** The present data: kept for users whose entries are refused. */
  readonly live: Readonly<Record<string, string>>;
}

/** A ConfigMap's `data` as k8-ldap-configmap makes it. */
export function directoryMap(
  { users, refused }: LdapUsers,
  { kind, userPrefix, live }: MapOptions,
): ConfigMapContents {
  const data: Record<string, string> = {};
  const unnameable: string[] = [];
  for (const { what, name } of refused) {
    const before = live[userPrefix + name];
    if (what === 'user' && before !== undefined && !users.has(name))
      data[userPrefix + name] = before;
  }
  for (const user of users.values()) {
    const key = userPrefix + user.name;
    // IsConfigMapKey of k8s.io/apimachinery: no `@`, no `:`.
    if (/^[-._a-zA-Z0-9]{1,253}$/.test(key)) data[key] = values[kind](user);
    else unnameable.push(user.name);
  }
  return { name: `${kind}-map`, data, unnameable };
}
