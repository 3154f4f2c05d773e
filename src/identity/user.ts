/** An account from NSS: local, LDAP or sssd. */
export interface User {
  readonly name: string;
  readonly uid: number;
  /** The primary group. */
  readonly gid: number;
  /** GIDs of all groups of the user, including the primary one, ascending. */
  readonly groups: readonly number[];
  readonly home: string;
  readonly shell: string;
}
