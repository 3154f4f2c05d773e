/** An entry with its values by the attributes' names in lower case. */
export interface LdapEntry {
  readonly dn: string;
  readonly values: ReadonlyMap<string, readonly string[]>;
}

/** What the directory holds of users and groups, whole. */
export interface LdapAnswers {
  readonly url: string;
  readonly users: readonly LdapEntry[];
  readonly groups: readonly LdapEntry[];
}
