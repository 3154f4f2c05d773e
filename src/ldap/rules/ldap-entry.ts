/** An entry: values by attribute name in lower case. */
export interface LdapEntry {
  readonly dn: string;
  readonly values: ReadonlyMap<string, readonly string[]>;
}

/** All users and groups of the directory. */
export interface LdapAnswers {
  readonly url: string;
  readonly users: readonly LdapEntry[];
  readonly groups: readonly LdapEntry[];
}
