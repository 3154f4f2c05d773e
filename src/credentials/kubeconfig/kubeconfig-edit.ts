import { isDeepStrictEqual } from 'node:util';
import { isMap, isSeq, type Node, type YAMLMap, type YAMLSeq } from 'yaml';
import type { JsonObject, JsonValue } from '../../config/schema/settings.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import {
  isMapping,
  itemsOf,
  pairOf,
  parseKubeconfig,
  type KubeconfigDocument,
} from './kubeconfig-document.ts';
import {
  entriesOf,
  overridingFields,
  kubeconfigLists,
  equalForKubectl,
  type EntryChange,
  type KubeconfigEntries,
  type ListKey,
  type NamedEntry,
} from './kubeconfig-entries.ts';
import {
  appendItems,
  appendPairs,
  replaceItem,
  replaceValue,
  setFields,
} from './kubeconfig-splice.ts';
import { applySplices, eolOf, type Splice } from './text-splices.ts';

/**
 * Sets our entries in a kubeconfig, YAML or JSON, and keeps every other byte: comments, order,
 * quoting, indentation, line endings. In our entries only the fields of `KubeconfigEntries` are set, and
 * fields that would override them are removed (`overridingFields`).
 *
 * The result is parsed again before it is returned: it must have our entries, and the old values
 * everywhere else. An entry that others share by `*alias` cannot be changed alone and is refused.
 *
 * @param text the old file; empty for a new one
 * @param file its name, for messages
 * @throws `kubeconfig-invalid` with the line, `kubeconfig-too-large`, `kubeconfig-not-editable`
 */
export function setKubeconfigEntries(
  text: string,
  wanted: readonly KubeconfigEntries[],
  file = 'kubeconfig',
): { readonly text: string; readonly changed: boolean } {
  const document = withHeader(parseKubeconfig(text, file), file);
  const splices: Splice[] = [];
  const additions: [string, JsonValue][] = [];
  let expected = document.values;
  for (const list of Object.keys(kubeconfigLists) as ListKey[]) {
    const items = editList(document, list, entriesOf(list, wanted), splices, additions);
    if (items !== undefined) expected = { ...expected, [list]: items };
  }
  const context = contextToSet(document, wanted);
  if (context !== undefined) {
    expected = { ...expected, 'current-context': context };
    const pair = pairOf(document.root, 'current-context');
    if (pair === undefined) additions.push(['current-context', context]);
    else splices.push(replaceValue(document, pair, 'current-context', context));
  }
  if (additions.length > 0) splices.push(appendPairs(document, additions));
  if (splices.length === 0) return { text, changed: false };
  const edited = applySplices(document.text, splices);
  checkResult(edited, expected, file);
  return { text: edited, changed: true };
}

type FilledDocument = KubeconfigDocument & { readonly root: YAMLMap };

/** Adds the fields that kubectl writes into a new file, if the file has only comments. */
function withHeader(document: KubeconfigDocument, file: string): FilledDocument {
  if (document.root !== undefined) return { ...document, root: document.root };
  const { text } = document;
  const eol = eolOf(text);
  const gap = text === '' || text.endsWith('\n') ? '' : eol;
  const header = ['apiVersion: v1', 'kind: Config', 'preferences: {}', ''].join(eol);
  const begun = parseKubeconfig(text + gap + header, file);
  if (begun.root === undefined) throw notEditable(file);
  return { ...begun, root: begun.root };
}

function contextToSet(
  { values }: KubeconfigDocument,
  wanted: readonly KubeconfigEntries[],
): string | undefined {
  if ((values['current-context'] ?? '') !== '') return undefined;
  return wanted.find((entry) => entry.currentContextIfUnset !== undefined)?.currentContextIfUnset;
}

/** Collects the splices for one list. Returns its new items, or undefined if none changes. */
function editList(
  document: FilledDocument,
  list: ListKey,
  entries: readonly NamedEntry[],
  splices: Splice[],
  additions: [string, JsonValue][],
): readonly JsonObject[] | undefined {
  const key = kubeconfigLists[list];
  const pair = pairOf(document.root, list);
  const items = [...itemsOf(document.values, list)];
  const missing: JsonObject[] = [];
  const before = splices.length;
  for (const { name, value } of entries) {
    const index = items.findIndex((item) => (item.name ?? '') === name);
    const item = items[index];
    if (item === undefined) {
      missing.push({ name, [key]: value });
      continue;
    }
    const change = changeOf(list, item[key], value);
    if (change === undefined) continue;
    items[index] = { ...item, [key]: change.value };
    // A list behind an alias has no item here; the check of the result refuses it.
    const node = isSeq(pair?.value) ? (pair.value as YAMLSeq<Node>).items[index] : undefined;
    if (node !== undefined) splices.push(...editItem(document, node, key, items[index], change));
  }
  if (missing.length > 0) {
    if (pair === undefined) additions.push([list, missing]);
    else splices.push(appendItems(document, pair, list, missing));
  }
  const changed = splices.length > before || missing.length > 0;
  return changed ? [...items, ...missing] : undefined;
}

/** The change that the entry needs; undefined if it needs none. */
function changeOf(
  list: ListKey,
  current: JsonValue | undefined,
  wanted: JsonObject,
): EntryChange | undefined {
  const there = isMapping(current) ? current : {};
  const set = Object.fromEntries(
    Object.entries(wanted).filter(([field, value]) => !equalForKubectl(there[field], value)),
  );
  const remove = overridingFields(list, wanted).filter((field) => (there[field] ?? null) !== null);
  if (Object.keys(set).length === 0 && remove.length === 0) return undefined;
  const kept = Object.entries(there).filter(([field]) => !remove.includes(field));
  return { set, remove, value: { ...Object.fromEntries(kept), ...set } };
}

/** Changes an existing entry, and as little of its text as its YAML style allows. */
function editItem(
  document: FilledDocument,
  node: Node,
  key: string,
  item: JsonObject,
  change: EntryChange,
): Splice[] {
  if (!isMap(node) || node.flow === true) return [replaceItem(document, node, item)];
  const pair = pairOf(node, key);
  if (pair === undefined) return [appendPairs({ ...document, root: node }, [[key, change.value]])];
  const fields = pair.value;
  const inPlace =
    isMap(fields) &&
    fields.flow !== true &&
    change.remove.every((field) => pairOf(fields, field) !== undefined);
  return inPlace
    ? setFields(document, fields, change)
    : [replaceValue(document, pair, key, change.value)];
}

function checkResult(edited: string, expected: JsonObject, file: string): void {
  let values: JsonObject | undefined;
  try {
    ({ values } = parseKubeconfig(edited, file));
  } catch (error) {
    // The line number in the error would refer to text that is not in the user's file.
    throw notEditable(file, error);
  }
  if (!isDeepStrictEqual(values, expected)) throw notEditable(file);
}

function notEditable(file: string, cause?: unknown): BerthError {
  return new BerthError(
    'kubeconfig-not-editable',
    `${file}: Berth's entries cannot be set without changing others`,
    {
      fields: { file },
      cause,
    },
  );
}
