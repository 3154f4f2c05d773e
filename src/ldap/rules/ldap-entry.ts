/** An entry: values by attribute description in lower case, with its options (`uid;lang-de`). */
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

/** The values of an attribute without options, each once: some directories allow duplicates. */
export function valuesOf({ values }: LdapEntry, attribute: string): readonly string[] {
  return [...new Set(values.get(attribute.toLowerCase()) ?? [])];
}
