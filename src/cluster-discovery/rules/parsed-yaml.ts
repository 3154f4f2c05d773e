import { parse } from 'yaml';

/** A YAML document as a value; undefined if it is not valid. */
export function parsedYaml(text: string): unknown {
  try {
    return parse(text) as unknown;
  } catch {
    return undefined;
  }
}
