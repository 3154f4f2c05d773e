/** An object of a parsed YAML or JSON document. */
export type Mapping = Readonly<Record<string, unknown>>;

/** A value of a parsed document as a mapping; undefined if it is a list, a scalar or null. */
export function asMapping(value: unknown): Mapping | undefined {
  return isMapping(value) ? value : undefined;
}

export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value of a parsed document as a mapping; an empty one if it is not one. */
export function mappingOrEmpty(value: unknown): Mapping {
  return asMapping(value) ?? {};
}
