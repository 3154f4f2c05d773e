/** An account as NSS knows it: local, LDAP or sssd alike. */
export interface User {
  readonly name: string;
  readonly uid: number;
  /** The primary group. */
  readonly gid: number;
  /** Every group of the user, the primary one among them, ascending. */
  readonly groups: readonly number[];
  readonly home: string;
  readonly shell: string;
}
