import { stringify } from 'yaml';
import { type KeyValues, withBerthKeys } from '../../../config/schema/berth-keys.ts';

/** Beginning of a block `key:` at the left margin. */
const keyLine = /^([a-z][a-z0-9_]*):/;

/**
 * One of the examples in etc/berth as a site's file: every comment stays, keys in `values` get these values, and all other
 * keys become comments, which leaves them at their defaults. Keys that the example does not have are added at its end.
 *
 * @param values YAML of a key, as `rules:\n  - profile: minimal`, by the key
 */
export function exampleWith(example: string, values: Readonly<Record<string, string>>): string {
  const lines: string[] = [];
  let block: 'none' | 'replaced' | 'commented' = 'none';
  for (const line of example.trimEnd().split('\n')) {
    const [, key] = keyLine.exec(line) ?? [];
    if (key !== undefined) {
      const value = values[key];
      block = value === undefined ? 'commented' : 'replaced';
      lines.push(value === undefined ? `# ${line}` : value.trimEnd());
    } else if (line === '' && block !== 'commented') {
      if (lines.at(-1) !== '') lines.push(line);
    } else if (line.startsWith('#') || line === '') {
      lines.push(line);
      if (line !== '') block = 'none';
    } else if (block === 'commented') lines.push(`# ${line}`);
    else if (block === 'none') lines.push(line);
  }
  const further = Object.keys(values).filter(
    (key) => !example.split('\n').some((line) => keyLine.exec(line)?.[1] === key),
  );
  for (const key of further) lines.push('', (values[key] ?? '').trimEnd());
  return `${lines.join('\n')}\n`;
}

/** A new berth.yml: the example with these values, and everything else as a comment. */
export function newBerthYml(example: string, values: KeyValues): string {
  const top: Record<string, string> = {};
  for (const [[key = '', ...rest], value] of values)
    if (rest.length === 0) top[key] = stringify({ [key]: value }).trimEnd();
  const inDefaults = values.flatMap(([[first, ...rest], value]) =>
    first === 'defaults' ? [[rest, value] as const] : [],
  );
  if (inDefaults.length > 0) top.defaults = defaultsText(example, inDefaults);
  const clusters = values.filter(([[first]]) => first === 'clusters');
  const text = exampleWith(example, top);
  return clusters.length === 0 ? text : `${text}\n${withBerthKeys('', clusters)}`;
}

/** The block `defaults:` of the example, with its comments. */
function defaultsText(example: string, values: KeyValues): string {
  const [, block = ''] = /^defaults:\n((?:(?: {2}.*)?\n)*)/m.exec(example) ?? [];
  const inner = block.replaceAll(/^ {2}/gm, '');
  const tree: Record<string, unknown> = {};
  for (const [[key = '', sub], value] of values)
    tree[key] = sub === undefined ? value : { ...(tree[key] as object | undefined), [sub]: value };
  const given = Object.fromEntries(
    Object.entries(tree).map(([key, value]) => [key, stringify({ [key]: value }).trimEnd()]),
  );
  const lines = exampleWith(inner, given).trimEnd().split('\n');
  return ['defaults:', ...lines.map((line) => (line === '' ? '' : `  ${line}`))].join('\n');
}
