import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  type Document,
  type Node,
  type Pair,
  type Scalar,
  visit,
  type YAMLMap,
} from 'yaml';
import type { JsonObject, JsonValue } from '../../config/schema/settings.ts';
import { excessOfYaml, isTooLargeWithAliases } from '../../config/schema/yaml-bounds.ts';
import { yamlErrorText } from '../../config/schema/yaml-document.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { kubeconfigLists, type ListKey } from './kubeconfig-entries.ts';
import { kubeconfigTooLarge } from './read-kubeconfig.ts';

/** A kubeconfig that kubectl would accept: its source, its nodes with their offsets, and its values. */
export interface KubeconfigDocument {
  readonly text: string;
  /** Absent if the text has only comments. */
  readonly root?: YAMLMap;
  readonly values: JsonObject;
}

/**
 * Reads a kubeconfig in YAML or JSON and checks what kubectl checks: one document, a mapping, kind
 * and version, lists of named entries, no name twice. Messages never quote the text, which may
 * hold secrets. The text of a user or a tenant is read by `inReadingProcess`.
 *
 * @throws `kubeconfig-invalid` with the line, `kubeconfig-too-large`
 */
export function parseKubeconfig(text: string, file: string): KubeconfigDocument {
  const excess = excessOfYaml(text);
  if (excess !== undefined) throw kubeconfigTooLarge(file, `has ${excess}`);
  try {
    return parsed(text, file);
  } catch (error) {
    if (error instanceof RangeError) throw invalid(file, text, 0, 'it is nested too deeply');
    throw error;
  }
}

/** The values of a kubeconfig. @throws as `parseKubeconfig` */
export function kubeconfigValues(text: string, file: string): JsonObject {
  return parseKubeconfig(text, file).values;
}

function parsed(text: string, file: string): KubeconfigDocument {
  const document = parseDocument(text, { prettyErrors: false, merge: true, uniqueKeys: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const { reason, hint } = yamlErrorText(error.code);
    // kubectl shows no error, and loses the others when it writes.
    const isMore = error.code === 'MULTIPLE_DOCS';
    const further = isMore ? 'Remove it: kubectl reads only the first one.' : hint;
    throw invalid(file, text, error.pos[0], reason, further);
  }
  const root = document.contents;
  if (root === null || isEmptyScalar(root)) return { text, values: {} };
  const at = (node: unknown): number => offsetOf(node) ?? 0;
  const again = secondOfEqualKeys(document);
  if (again !== undefined)
    throw invalid(
      file,
      text,
      at(again),
      'duplicate key',
      'Keep one of them: kubectl uses the last.',
    );
  if (!isMap(root)) throw invalid(file, text, at(root), 'the top level is not a mapping');
  const values = valuesOf(document, file, text);
  check(values, root, (node, reason) => invalid(file, text, at(node), reason));
  return { text, root, values };
}

/** As the parser's `uniqueKeys`, which takes the square of a mapping's size. */
function secondOfEqualKeys(document: Document.Parsed): Scalar | undefined {
  let again: Scalar | undefined;
  visit(document, {
    Map: (_, { items }) => {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (keys.has(key.value)) {
          again = key;
          return visit.BREAK;
        }
        keys.add(key.value);
      }
      return undefined;
    },
  });
  return again;
}

/** The pair with this key, if the mapping itself has it. */
export function pairOf(map: YAMLMap, key: string): Pair<Node, Node | null> | undefined {
  return (map.items as Pair<Node, Node | null>[]).find(
    ({ key: node }) => isScalar(node) && node.value === key,
  );
}

export function isMapping(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The items of a list of a kubeconfig; empty if it is missing or null. */
export function itemsOf(values: JsonObject, list: ListKey): readonly JsonObject[] {
  return (values[list] ?? []) as readonly JsonObject[];
}

type Fault = (node: unknown, reason: string) => BerthError;

function check(values: JsonObject, root: YAMLMap, fault: Fault): void {
  const wanted = { apiVersion: 'v1', kind: 'Config' };
  for (const [key, value] of Object.entries(wanted)) {
    const there = values[key] ?? '';
    if (there !== '' && there !== value) {
      throw fault(pairOf(root, key)?.value, `${key} is not ${value}`);
    }
  }
  for (const list of Object.keys(kubeconfigLists) as ListKey[]) {
    const node = pairOf(root, list)?.value;
    const items = values[list] ?? [];
    if (!Array.isArray(items)) throw fault(node, `${list} is not a list`);
    checkItems(list, items as readonly JsonValue[], (index, reason) =>
      fault(isSeq(node) ? node.items[index] : node, reason),
    );
  }
}

function checkItems(
  list: ListKey,
  items: readonly JsonValue[],
  fault: (index: number, reason: string) => BerthError,
): void {
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    if (!isMapping(item)) throw fault(index, `an item of ${list} is not a mapping`);
    const name = item.name ?? '';
    if (typeof name !== 'string') throw fault(index, `a name in ${list} is not a string`);
    if (seen.has(name)) throw fault(index, `a name occurs twice in ${list}`);
    seen.add(name);
    const value = item[kubeconfigLists[list]] ?? null;
    if (value !== null && !isMapping(value)) {
      throw fault(index, `${kubeconfigLists[list]} is not a mapping in an item of ${list}`);
    }
  }
}

function valuesOf(document: Document.Parsed, file: string, text: string): JsonObject {
  let values: JsonObject;
  try {
    values = document.toJS() as JsonObject;
  } catch (error) {
    if (error instanceof RangeError) throw error;
    // Aliases that expand beyond the parser's limit.
    throw invalid(file, text, 0, 'its YAML aliases expand to more than the parser allows');
  }
  // The parser's limit does not count aliases of empty lists and mappings.
  if (isTooLargeWithAliases(values))
    throw kubeconfigTooLarge(file, 'is too large with its aliases');
  return values;
}

function isEmptyScalar(node: unknown): boolean {
  return isScalar(node) && node.value === null && (node.source ?? '') === '';
}

function offsetOf(node: unknown): number | undefined {
  if (!isMap(node) && !isSeq(node) && !isScalar(node) && !isAlias(node)) return undefined;
  return node.range?.[0];
}

function invalid(
  file: string,
  text: string,
  offset: number,
  reason: string,
  hint = `See: kubectl config view --kubeconfig=${file}`,
): BerthError {
  const line = text.slice(0, offset).split('\n').length;
  return new BerthError('kubeconfig-invalid', `${file}:${line}: ${reason}`, {
    hint: `Nothing was written. ${hint}`,
    fields: { file, line },
  });
}
