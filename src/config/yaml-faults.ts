import type { ErrorCode } from 'yaml';

interface YamlFault {
  readonly reason: string;
  readonly hint: string;
}

const indentation = 'Look at the indentation of that line and of the lines above it.';
const quotes = "Put the value in quotes: 'TEXT'.";
const colon: YamlFault = {
  reason: 'a value with a colon must be in quotes',
  hint: "Put the value in quotes: 'oidc:' and not oidc: alone.",
};
const faults: Partial<Record<ErrorCode, YamlFault>> = {
  BLOCK_AS_IMPLICIT_KEY: colon,
  BLOCK_IN_FLOW: colon,
  DUPLICATE_KEY: { reason: 'this key is there twice', hint: 'Keep one of them.' },
  MULTIPLE_DOCS: {
    reason: 'a second document begins here, and nobody would read it',
    hint: 'Put all of it into one document, without `---` or `...` between.',
  },
  TAB_AS_INDENT: { reason: 'a tab indents this line', hint: 'Indent with blanks.' },
  BAD_INDENT: {
    reason: 'the indentation does not fit, or a closing bracket is missing',
    hint: indentation,
  },
  MISSING_CHAR: {
    reason: 'a closing quote, a bracket, a comma or a colon is missing',
    hint: 'Look at the quotes and brackets of that line and of the lines above it.',
  },
  MULTILINE_IMPLICIT_KEY: {
    reason: 'a key has no colon behind it, or a value goes on in the next line',
    hint: indentation,
  },
  UNEXPECTED_TOKEN: {
    reason: 'lists and mappings are mixed, or something is too much',
    hint: indentation,
  },
  BAD_SCALAR_START: {
    reason: 'a value that begins with this sign must be in quotes',
    hint: quotes,
  },
  BAD_DQ_ESCAPE: {
    reason: 'a backslash in double quotes begins something that YAML does not know',
    hint: "Use single quotes: 'TEXT'.",
  },
  BAD_ALIAS: {
    reason: 'aliases that cannot be resolved',
    hint: 'Write out what `*NAME` stands for.',
  },
};

/** What a parser's code means to who wrote the file. Nothing of the file's text is in it. */
export function yamlFault(code: ErrorCode): YamlFault {
  const hint = 'Look at the indentation and the quotes at that line.';
  return faults[code] ?? { reason: code.toLowerCase().replaceAll('_', ' '), hint };
}
