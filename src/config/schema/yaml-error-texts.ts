import type { ErrorCode } from 'yaml';

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
