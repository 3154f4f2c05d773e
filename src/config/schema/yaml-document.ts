import {
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
} from 'yaml';
import { configError, type Locate, type Position, type Problem } from './config-error.ts';
import { isNestedTooDeeply } from './yaml-bounds.ts';

/**
 * `psych`: as Ruby reads OnDemand's files: YAML 1.1, the last of equal keys counts. `kubectl`: YAML 1.2,
 * equal keys are an error. Both read only the first document. `core`, for Berth's own files: as `kubectl`,
 * but a second document is an error.
 */
export type YamlDialect = 'psych' | 'kubectl' | 'core';

export interface YamlFile {
  readonly value: unknown;
  /** Finds the position of a problem in the text. */
  readonly place: Locate;
}

/**
 * Parses a YAML file. Errors name line and reason, never the file's text, which may hold secrets.
 *
 * @throws BerthError `config-yaml-invalid` with `file` and `line`
 */
export function parseYaml(text: string, file: string, dialect: YamlDialect): unknown {
  return readYaml(text, file, dialect).value;
}

/**
 * The same, with the positions of the values, for messages about them.
 *
 * @throws as `parseYaml`
 */
export function readYaml(text: string, file: string, dialect: YamlDialect): YamlFile {
  const lines = new LineCounter();
  const position = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  // YAML 1.2, section 5.1: libyaml, which Ruby and kubectl use, refuses them, too.
  const control = /[\0-\x08\v\f\x0e-\x1f\x7f]/.exec(text);
  if (control !== null) {
    const before = text.slice(0, control.index).split('\n');
    const at = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
    throw broken(file, at, 'a control character', 'Remove it, or write it as "\\xNN" in quotes.');
  }
  if (isNestedTooDeeply(text)) {
    const hint = 'Check that it is the right file, and its brackets.';
    throw broken(file, { line: 1, column: 1 }, 'it is nested too deeply', hint);
  }
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    // `silent` would also hide the error about a second document.
    logLevel: dialect === 'core' ? 'error' : 'silent',
    version: dialect === 'psych' ? '1.1' : '1.2',
    uniqueKeys: dialect !== 'psych',
  });
  const [error] = document.errors;
  if (error !== undefined) {
    const { reason, hint } = yamlErrorText(error.code);
    throw broken(file, position(error.pos[0]), reason, hint);
  }
  try {
    const value = document.toJS() as unknown;
    return { value, place: (problem) => position(offsetOf(document, problem)) };
  } catch {
    // Too many aliases, or an alias without an anchor.
    const { reason, hint } = yamlErrorText('BAD_ALIAS');
    throw broken(file, { line: 1, column: 1 }, reason, hint);
  }
}

/** The position of the deepest node on the path that exists: for a missing key, of its mapping. */
function offsetOf(document: Document.Parsed, { path, atKey = false }: Problem): number {
  let node: unknown = document.contents;
  let offset = offsetIn(node) ?? 0;
  for (const [index, step] of path.entries()) {
    const at = isAlias(node) ? node.resolve(document) : node;
    if (isMap(at)) {
      const pair = at.items.findLast(
        ({ key }) => isScalar(key) && String(key.value) === String(step),
      );
      if (pair === undefined) return offset;
      node = atKey && index === path.length - 1 ? pair.key : (pair.value ?? pair.key);
    } else if (isSeq(at)) {
      node = at.items[Number(step)];
    } else return offset;
    offset = offsetIn(node) ?? offset;
  }
  return offset;
}

function offsetIn(node: unknown): number | undefined {
  return (node as { readonly range?: readonly number[] | null } | null | undefined)?.range?.[0];
}

function broken(file: string, position: Position, reason: string, hint: string): Error {
  return configError('config-yaml-invalid', file, `invalid YAML: ${reason}`, hint, { ...position });
}

interface YamlFault {
  readonly reason: string;
  readonly hint: string;
}

const indentation = 'Check the indentation of that line and of the lines above it.';
const quotes = "Put the value in quotes: 'TEXT'.";
const colon: YamlFault = {
  reason: 'a value with a colon must be in quotes',
  hint: "Put the value in quotes: 'oidc:' instead of oidc:",
};
const faults: Partial<Record<ErrorCode, YamlFault>> = {
  BLOCK_AS_IMPLICIT_KEY: colon,
  BLOCK_IN_FLOW: colon,
  DUPLICATE_KEY: { reason: 'duplicate key', hint: 'Keep one of them.' },
  MULTIPLE_DOCS: {
    reason: 'a second YAML document begins here; only one is allowed',
    hint: 'Put everything into one document, without `---` or `...` between parts.',
  },
  TAB_AS_INDENT: { reason: 'a tab indents this line', hint: 'Indent with spaces.' },
  BAD_INDENT: {
    reason: 'wrong indentation, or a missing closing bracket',
    hint: indentation,
  },
  MISSING_CHAR: {
    reason: 'a closing quote, a bracket, a comma or a colon is missing',
    hint: 'Check the quotes and brackets of that line and of the lines above it.',
  },
  MULTILINE_IMPLICIT_KEY: {
    reason: 'a key without a colon, or a value that continues on the next line',
    hint: indentation,
  },
  UNEXPECTED_TOKEN: {
    reason: 'lists and mappings are mixed, or there is an extra character',
    hint: indentation,
  },
  BAD_SCALAR_START: {
    reason: 'a value that begins with this character must be in quotes',
    hint: quotes,
  },
  BAD_DQ_ESCAPE: {
    reason: 'an unknown escape sequence in double quotes',
    hint: "Use single quotes: 'TEXT'.",
  },
  BAD_ALIAS: {
    reason: 'aliases that cannot be resolved',
    hint: 'Replace each `*NAME` with the value that it refers to.',
  },
};

/** Explains a parser's error code, without the file's text. */
export function yamlErrorText(code: ErrorCode): YamlFault {
  const hint = 'Check the indentation and the quotes in that line.';
  return faults[code] ?? { reason: code.toLowerCase().replaceAll('_', ' '), hint };
}
