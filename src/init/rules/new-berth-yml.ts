import { stringify } from 'yaml';
import { type KeyValues, withBerthKeys } from '../../config/schema/berth-yml-edit.ts';
import { exampleWith } from './example-text.ts';

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
