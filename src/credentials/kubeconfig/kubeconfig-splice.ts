import { isMap, isPair, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';
import type { JsonObject, JsonValue } from '../../config/schema/settings.ts';
import { pairOf } from './kubeconfig-document.ts';
import type { EntryChange } from './kubeconfig-entries.ts';
import {
  blockItem,
  blockPair,
  columnOf,
  eolOf,
  insertLines,
  jsonText,
  lineEnd,
  lineStart,
  type Splice,
} from './text-splices.ts';

/** The source of a splice, and its top mapping or the mapping that is appended to. */
interface Place {
  readonly text: string;
  readonly root: YAMLMap;
}

type FieldPair = Pair<Node, Node | null>;

/** Adds pairs at the end of a mapping, in its own style. */
export function appendPairs(
  { text, root }: Place,
  pairs: readonly (readonly [string, JsonValue])[],
): Splice {
  if (root.flow !== true) {
    const column = columnOf(text, startOf(root));
    const step = listStep(text, root, column);
    const lines = pairs.flatMap(([key, value]) => blockOf(key, value, column, step));
    return insertLines(text, lineEnd(text, contentEnd(root), column + 1), lines);
  }
  const last = root.items.at(-1);
  const newline = newlineInside(text, root);
  const rendered = pairs.map(
    ([key, value]) => `${jsonText(key)}: ${jsonText(value, newline, unitOf(newline))}`,
  );
  if (last === undefined) {
    const at = startOf(root) + 1;
    return { start: at, end: at, text: rendered.join(', ') };
  }
  const at = contentEnd(last);
  return { start: at, end: at, text: rendered.map((pair) => `,${newline ?? ' '}${pair}`).join('') };
}

/** Adds items at the end of an existing list. */
export function appendItems(
  place: Place,
  pair: FieldPair,
  list: string,
  items: readonly JsonObject[],
): Splice {
  const { text } = place;
  const { value } = pair;
  if (!isSeq(value) || value.items.length === 0) return replaceValue(place, pair, list, items);
  if (value.flow !== true) {
    const column = columnOf(text, startOf(value));
    const lines = items.flatMap((item) => blockItem(item, column));
    return insertLines(text, lineEnd(text, contentEnd(value), column + 1), lines);
  }
  const newline = newlineInside(text, value);
  const at = contentEnd(value.items.at(-1));
  return {
    start: at,
    end: at,
    text: items
      .map((item) => `,${newline ?? ' '}${jsonText(item, newline, unitOf(newline))}`)
      .join(''),
  };
}

/** Replaces a whole list item in flow style, or an alias. */
export function replaceItem({ text }: Place, node: Node, item: JsonObject): Splice {
  const newline = multiline(text, node);
  return {
    start: startOf(node),
    end: contentEnd(node),
    text: jsonText(item, newline, unitOf(newline)),
  };
}

/**
 * Replaces the value of one pair. It becomes JSON in a flow collection or if it was a flow collection with
 * content, and block style elsewhere.
 */
export function replaceValue(
  { text, root }: Place,
  pair: FieldPair,
  key: string,
  value: JsonValue,
): Splice {
  const old = pair.value;
  const bracketed = (isMap(old) || isSeq(old)) && old.flow === true && old.items.length > 0;
  if (old !== null && (root.flow === true || bracketed)) {
    const newline =
      multiline(text, old) ?? (root.flow === true ? multiline(text, root) : undefined);
    const rendered = jsonText(value, newline, unitOf(newline));
    const gap = startOf(old) === contentEnd(old) ? ' ' : '';
    return { start: startOf(old), end: contentEnd(old), text: gap + rendered };
  }
  const column = columnOf(text, startOf(pair.key));
  const lines = blockOf(key, value, column, listStep(text, root, column));
  return {
    start: startOf(pair.key),
    end: contentEnd(pair),
    text: withoutIndent(text, pair, lines),
  };
}

/** Sets and removes single fields of one entry in block style. */
export function setFields({ text }: Place, fields: YAMLMap, change: EntryChange): Splice[] {
  const column = columnOf(text, startOf(fields));
  const added: string[] = [];
  const splices: Splice[] = [];
  for (const [key, value] of Object.entries(change.set)) {
    const pair = pairOf(fields, key);
    const lines = blockPair(key, value, column);
    if (pair === undefined) added.push(...lines);
    else {
      const rendered = withoutIndent(text, pair, lines);
      splices.push({ start: startOf(pair.key), end: contentEnd(pair), text: rendered });
    }
  }
  for (const key of change.remove) {
    const pair = pairOf(fields, key);
    if (pair === undefined) continue;
    const start = lineStart(text, startOf(pair.key));
    splices.push({ start, end: lineEnd(text, contentEnd(pair), column + 1), text: '' });
  }
  if (added.length > 0) {
    splices.push(insertLines(text, lineEnd(text, contentEnd(fields), column), added));
  }
  return splices;
}

function blockOf(key: string, value: JsonValue, column: number, listStep: number): string[] {
  const items = Array.isArray(value) ? (value as readonly JsonObject[]) : undefined;
  if (items === undefined) return blockPair(key, value, column);
  return [
    `${' '.repeat(column)}${key}:`,
    ...items.flatMap((item) => blockItem(item, column + listStep)),
  ];
}

/** How far this file's other lists are indented below their keys; kubectl: not at all. */
function listStep(text: string, root: YAMLMap, column: number): number {
  for (const { value } of root.items) {
    if (isSeq(value) && value.flow !== true && value.items.length > 0) {
      return Math.max(0, columnOf(text, startOf(value)) - column);
    }
  }
  return 0;
}

function withoutIndent(text: string, pair: FieldPair, lines: readonly string[]): string {
  const eol = eolOf(text);
  // A block scalar includes its line ending.
  const tail = text[contentEnd(pair) - 1] === '\n' ? eol : '';
  return lines.join(eol).trimStart() + tail;
}

/** The line break before the last item of a flow collection with one item on each line. */
function newlineInside(text: string, collection: Node): string | undefined {
  const items = isMap(collection) || isSeq(collection) ? collection.items : [];
  const last = items.at(-1);
  if (last === undefined) return undefined;
  const start = isPair(last) ? startOf(last.key) : startOf(last);
  const indent = text.slice(lineStart(text, start), start);
  return /^[ \t]*$/.test(indent) && start > startOf(collection) + 1
    ? eolOf(text) + indent
    : undefined;
}

/** The line break to use if the node has several lines. */
function multiline(text: string, node: Node): string | undefined {
  if (!text.slice(startOf(node), contentEnd(node)).includes('\n')) return undefined;
  const line = text.slice(lineStart(text, startOf(node)));
  return eolOf(text) + (/^[ \t]*/.exec(line)?.[0] ?? '');
}

function unitOf(newline: string | undefined): string {
  return newline?.includes('\t') === true ? '\t' : '  ';
}

/** Offset of a node's first character, after its anchor or tag. */
function startOf(node: unknown): number {
  return (node as Node).range?.[0] ?? 0;
}

/**
 * Offset behind a node's last character. The parser's range of a block collection includes comments
 * and blank lines, so the end of its last value is used.
 */
function contentEnd(node: unknown): number {
  if (isPair(node)) {
    return Math.max(contentEnd(node.key), node.value === null ? 0 : contentEnd(node.value));
  }
  if ((isMap(node) || isSeq(node)) && node.flow !== true && node.items.length > 0) {
    return contentEnd(node.items.at(-1));
  }
  return (node as Node).range?.[1] ?? 0;
}
