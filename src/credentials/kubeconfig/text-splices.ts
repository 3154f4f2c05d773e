import type { JsonObject, JsonValue } from '../../config/schema/settings.ts';
import { isMapping } from './kubeconfig-document.ts';
import { isList } from './kubeconfig-entries.ts';

/** A piece of new text for the offsets `start` to `end` of the old; offsets in UTF-16 units. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Inserts the pieces. They must not overlap; at the same offset insertions come first, then the given
 * order is kept.
 */
export function applySplices(text: string, splices: readonly Splice[]): string {
  const inOrder = splices.toSorted((a, b) => a.start - b.start || a.end - b.end);
  const pieces: string[] = [];
  let from = 0;
  for (const { start, end, text: piece } of inOrder) {
    pieces.push(text.slice(from, start), piece);
    from = Math.max(from, end);
  }
  return pieces.join('') + text.slice(from);
}

/** The line ending of a text: that of its first line. */
export function eolOf(text: string): '\n' | '\r\n' {
  return /^[^\n]*\r\n/.test(text) ? '\r\n' : '\n';
}

/** The number of characters before this offset in its line. */
export function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset);
}

export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

/**
 * The end of the line with the last character before `offset`, after its line ending and after the
 * following comment lines that are indented by at least `commentIndent`, which belong to it. The end of the
 * text if there is no line ending.
 */
export function lineEnd(text: string, offset: number, commentIndent: number): number {
  let end = offset;
  if (offset === 0 || text[offset - 1] !== '\n') end = afterLine(text, offset);
  const comment = new RegExp(`^ {${commentIndent},}#`);
  while (end < text.length && text[end - 1] === '\n') {
    const next = afterLine(text, end);
    if (!comment.test(text.slice(end, next))) break;
    end = next;
  }
  return end;
}

function afterLine(text: string, offset: number): number {
  const newline = text.indexOf('\n', offset);
  return newline === -1 ? text.length : newline + 1;
}

/** Inserts whole lines at the start of a line, or at the end of a text without a final line ending. */
export function insertLines(text: string, at: number, lines: readonly string[]): Splice {
  const eol = eolOf(text);
  const missing = at > 0 && text[at - 1] !== '\n' ? eol : '';
  return { start: at, end: at, text: missing + lines.map((line) => line + eol).join('') };
}

/** `key: value` in block style, as lines without line endings. */
export function blockPair(key: string, value: JsonValue, indent: number): string[] {
  const pad = ' '.repeat(indent);
  if (isList(value) && value.length > 0) {
    return [`${pad}${scalar(key)}:`, ...value.map((item) => `${pad}- ${flow(item)}`)];
  }
  if (isMapping(value) && Object.keys(value).length > 0) {
    return [`${pad}${scalar(key)}:`, ...blockMapping(value, indent + 2)];
  }
  return [`${pad}${scalar(key)}: ${flow(value)}`];
}

function blockMapping(value: JsonObject, indent: number): string[] {
  return Object.entries(value).flatMap(([key, child]) => blockPair(key, child, indent));
}

/** `- name: …` and the entry's value, in block style; `indent` is the column of the `-`. */
export function blockItem(item: JsonObject, indent: number): string[] {
  const [first = '', ...rest] = blockMapping(item, indent + 2);
  return [`${' '.repeat(indent)}- ${first.slice(indent + 2)}`, ...rest];
}

/** One line of YAML; also JSON, unless it is a plain string. */
function flow(value: JsonValue): string {
  return typeof value === 'string' ? scalar(value) : jsonText(value);
}

/** A string: plain if every YAML parser reads it as a string, else in double quotes. */
function scalar(text: string): string {
  const plain =
    /^[A-Za-z/_](?:[\w./@+-]|:(?=[\w./@+-]))*$/.test(text) &&
    !/^(?:y|n|yes|no|on|off|true|false|null|nan|inf)$/i.test(text);
  return plain ? text : jsonText(text);
}

/**
 * JSON on one line, or, with `newline` (a line ending and the indentation to begin with) and `unit`
 * (one level of it), on several. Valid YAML anywhere: the other line breaks of YAML 1.1 are escaped.
 */
export function jsonText(value: JsonValue, newline?: string, unit = '  '): string {
  const text = JSON.stringify(value, null, newline === undefined ? undefined : unit).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return newline === undefined ? text : text.replaceAll('\n', newline);
}
