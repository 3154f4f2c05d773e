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

/** The values of an attribute, with and without options (RFC 4512, section 2.5.2). */
export function valuesWithOptions({ values }: LdapEntry, attribute: string): readonly string[] {
  const wanted = attribute.toLowerCase();
  return [...values].flatMap(([type, all]) => (type.split(';')[0] === wanted ? all : []));
}
