import { parse } from 'yaml';

/** A value as a list; an empty one if it is not one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A YAML document as a value; undefined if it is not valid. */
export function parsedYaml(text: string): unknown {
  try {
    return parse(text) as unknown;
  } catch {
    return undefined;
  }
}
