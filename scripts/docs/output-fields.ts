import type { JsonSchema } from './json-schema.ts';

/** A field of a document. */
interface Field {
  readonly types: ReadonlySet<string>;
  /** Whether it is in every document in which its parent is. */
  readonly always: boolean;
}

/**
 * What a script that reads documents of the first schema would miss in those of the second: a field that is gone, is left out
 * now and then, or has another type. New fields are no loss.
 */
export function lostFields(before: JsonSchema, after: JsonSchema): string[] {
  const now = fieldsOf(after);
  return [...fieldsOf(before)].flatMap(([path, { types, always }]) => {
    const field = now.get(path);
    if (field === undefined) return `${path}, which is gone`;
    const other = [...field.types].filter((type) => !types.has(type));
    if (other.length > 0)
      return `${path} as ${[...types].join(' or ')}, which may be ${other.join(' or ')}`;
    return always && !field.always ? `${path}, which may be left out` : [];
  });
}

/** By path: `clusters[].name`; `.*` for names that are data. */
function fieldsOf(schema: JsonSchema): ReadonlyMap<string, Field> {
  const fields = new Map<string, Field>();
  collect([schema], '', fields);
  return fields;
}

/** @param alternatives of one value */
function collect(
  alternatives: readonly JsonSchema[],
  path: string,
  fields: Map<string, Field>,
): void {
  const all = alternatives.flatMap((one) => one.anyOf ?? one);
  const objects = all.filter(({ properties }) => properties !== undefined);
  for (const name of new Set(objects.flatMap(({ properties }) => Object.keys(properties ?? {})))) {
    const values = objects.flatMap(({ properties }) => properties?.[name] ?? []);
    const always = objects.every(({ required = [] }) => required.includes(name));
    const below = path === '' ? name : `${path}.${name}`;
    fields.set(below, { types: new Set(values.flatMap(typesOf)), always });
    collect(values, below, fields);
  }
  const items = all.flatMap(({ items: own }) => own ?? []);
  if (items.length > 0) collectEntries(items, `${path}[]`, fields);
  const named = all.flatMap(({ additionalProperties: own }) =>
    typeof own === 'object' ? own : [],
  );
  if (named.length > 0) collectEntries(named, `${path}.*`, fields);
}

function collectEntries(
  values: readonly JsonSchema[],
  path: string,
  fields: Map<string, Field>,
): void {
  fields.set(path, { types: new Set(values.flatMap(typesOf)), always: true });
  collect(values, path, fields);
}

function typesOf({ type, anyOf, const: value }: JsonSchema): string[] {
  if (anyOf !== undefined) return anyOf.flatMap(typesOf);
  if (type === undefined) return [value === undefined ? 'anything' : typeof value];
  return [type].flat();
}
