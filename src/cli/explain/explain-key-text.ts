import type { ConfigurationKey } from '../kit/configuration-keys.ts';
import { configurationKeys, keysInside } from '../kit/configuration-keys.ts';
import type { Explanation } from './explain-text.ts';
import { documentText } from '../kit/json-document.ts';
import { wrapped } from '../kit/wrapped-text.ts';

/** Each key with its meaning, and with what is below it. Keys that mean the same are explained once. */
export function keysText(found: readonly ConfigurationKey[]): string {
  const same = Map.groupBy(found, ({ file, description }) => `${file}\n${description}`);
  return [...same.values()].map((keys) => keyText(keys)).join('\n');
}

function keyText(keys: readonly ConfigurationKey[]): string {
  const [first] = keys;
  if (first === undefined) return '';
  const { path, key, type, required, description } = first;
  const below = keysInside(first);
  const parts = [
    `FILE: ${path}${key === '' ? '' : `\nKEY:  ${keys.map((one) => one.key).join(', ')} <${type}>${required ? ', required' : ''}`}`,
    ...description.split('\n\n').map((paragraph) => wrapped(paragraph)),
    ...(below.length === 0 ? [] : [`KEYS:\n${below.map((one) => lineOf(one, key)).join('\n')}`]),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** A key below another, with the first sentence of its meaning. */
function lineOf({ key, description }: ConfigurationKey, below: string): string {
  const name = below === '' ? key : key.slice(below.length + 1);
  const [sentence = ''] = /^.*?\.(?=\s|$)/.exec(description) ?? [];
  return wrapped(`${name}: ${sentence}`, '  ', '      ');
}

/** For scripts. */
export function keysJson(
  keys: readonly ConfigurationKey[],
  checks: readonly Explanation[],
): string {
  return documentText('ConfigurationKeys', { keys, checks });
}

/** Names that can follow `berth explain`: the files, and all keys. */
export function keyNames(): string[] {
  return [...new Set(configurationKeys.map(({ file, key }) => (key === '' ? file : key)))];
}
