import { parseDocument } from 'yaml';

/** A value by the path of its key, as `['defaults', 'subject_prefix']`. */
export type KeyValues = readonly (readonly [path: readonly string[], value: unknown])[];

/** A site's berth.yml with other values of these keys; undefined removes a key. Comments and the other keys stay. */
export function withBerthKeys(text: string, values: KeyValues): string {
  if (values.length === 0) return text;
  const document = parseDocument(text);
  for (const [path, value] of values)
    if (value === undefined) {
      if (document.hasIn(path)) document.deleteIn(path);
    } else if (!isSame(document.getIn(path), value)) document.setIn(path, value);
  return document.toString({ lineWidth: 0 });
}

function isSame(present: unknown, value: unknown): boolean {
  const plain =
    typeof present === 'object' && present !== null && 'toJSON' in present
      ? (present as { toJSON(): unknown }).toJSON()
      : present;
  return JSON.stringify(plain) === JSON.stringify(value);
}
