import { BashWordReader, type WordPart } from './bash-word.ts';
import type { SettingsWarning } from '../settings.ts';
import type { LogCode } from '../../../system/errors/error-codes.ts';

/** The variables that bash would have after `source hook.env`. */
export interface HookEnv {
  readonly values: ReadonlyMap<string, string>;
  /** The line, from 1, that set each variable last. */
  readonly lines: ReadonlyMap<string, number>;
  readonly warnings: readonly SettingsWarning[];
}

const largest = 1024 * 1024;

/** Variables that bash or the caller of the hook sets: the value of a file that uses one is unknown here. */
const environmentNames =
  /^(?:BASH.*|COMP_WORDBREAKS|DIRSTACK|EPOCH.*|EUID|FUNCNAME|GROUPS|HIST.*|HOME|HOST.*|IFS|LINENO|LOGNAME|MACHTYPE|MAIL|OLDPWD|OPT.*|OSTYPE|PATH|PIPESTATUS|PPID|PS[0-4]|PWD|RANDOM|READLINE.*|REPLY|SECONDS|SHELL|SHELLOPTS|SHLVL|SRANDOM|TERM|UID|USER|_|OOD_.*|ONDEMAND_.*|NGINX_STAGE_.*|SUDO_.*|HOOK_?ENV)$/;

/** Variables that are read-only in bash, set by bash itself, or that change how bash reads the rest. */
const unassignable =
  /^(?:BASH.*|COMP_WORDBREAKS|DIRSTACK|EPOCH.*|EUID|FUNCNAME|GROUPS|HISTCMD|LINENO|OPTERR|OPTIND|PIPESTATUS|POSIXLY_CORRECT|PPID|RANDOM|SECONDS|SHELLOPTS|SRANDOM|TEXTDOMAIN(?:DIR)?|UID|_)$/;

interface Assignment {
  readonly name: string;
  readonly append: boolean;
  readonly value: readonly WordPart[];
  readonly line: number;
}

/**
 * Reads a `hook.env`, which is written to be sourced by bash, without running bash. Accepted values are the
 * same as in bash (bash(1), QUOTING, PARAMETERS, Parameter Expansion); anything but assignments is refused.
 * Environment variables are not used: a reference to a name that the file does not set is empty, with a
 * warning.
 *
 * @param source the file's bytes, or its text
 * @param file its path, for messages
 * @throws BerthError `hook-env-not-an-assignment` (a command, a substitution, an array, …),
 *   `hook-env-unterminated`, `hook-env-unsupported` (only a running bash knows the value),
 *   `config-not-utf8`, `config-too-large`; all with `file` and `line`
 */
export function parseHookEnv(source: string | Uint8Array, file: string): HookEnv {
  return new HookEnvReader(source, file).read();
}

class HookEnvReader {
  private readonly variables = new Map<string, string>();
  private readonly lines = new Map<string, number>();
  private readonly warnings: SettingsWarning[] = [];
  private readonly reader: BashWordReader;
  private readonly file: string;

  constructor(source: string | Uint8Array, file: string) {
    const bytes = Buffer.from(source as Uint8Array);
    const text = bytes.toString('latin1');
    this.file = file;
    this.reader = new BashWordReader(text, file);
    if (bytes.length > largest) {
      this.reader.refuse('config-too-large', `${bytes.length} bytes; the limit is 1 MiB`);
    }
    const nul = text.indexOf('\0');
    if (nul >= 0) {
      const line = text.slice(0, nul).split('\n').length;
      this.reader.refuse('config-not-utf8', 'a NUL byte', undefined, line);
    }
  }

  read(): HookEnv {
    const { reader } = this;
    for (;;) {
      reader.skipBlanks();
      const character = reader.peek();
      if (character === '') break;
      if (character === '\n') reader.next();
      else if (character === '#') reader.skipComment();
      else this.statement();
    }
    const values = new Map<string, string>();
    for (const [name, bytes] of this.variables) values.set(name, this.decode(name, bytes));
    return { values, lines: this.lines, warnings: this.warnings };
  }

  /** Reads one simple command: assignments only, or `export` with its arguments. */
  private statement(): void {
    const { reader } = this;
    const exporting = /^export(?![^ \t\n;\\])/.test(reader.restOfLine()) && this.takeExport();
    let words = 0;
    // export expands all its arguments before it sets the first; plain assignments are done one by one.
    const pending: { assignment: Assignment; value: string }[] = [];
    for (;;) {
      reader.skipBlanks();
      const character = reader.peek();
      if (character === '#') reader.skipComment();
      if (character === '' || character === '\n' || character === ';' || character === '#') break;
      const assignment = exporting ? this.exportArgument() : this.assignment(words > 0);
      words += 1;
      if (assignment === undefined) continue;
      const value = this.expand(assignment.value);
      if (exporting) pending.push({ assignment, value });
      else this.assign(assignment, value);
    }
    if (words === 0) this.notAnAssignment(false);
    for (const { assignment, value } of pending) this.assign(assignment, value);
    if (reader.peek() !== ';') return;
    reader.next();
    if (reader.peek() === ';' || reader.peek() === '&') this.notAnAssignment(false);
  }

  private takeExport(): boolean {
    this.reader.skip('export'.length);
    // A joined line may continue the same word.
    if (!this.reader.atWordEnd()) this.reader.refuse(notAssignment, 'a command');
    return true;
  }

  private assignment(afterAnother: boolean): Assignment {
    const { reader } = this;
    const line = reader.line;
    const start = reader.takeAssignmentStart();
    if (start === undefined) this.notAnAssignment(afterAnother);
    return { ...start, value: this.value({ tildes: true, braces: false }), line };
  }

  private exportArgument(): Assignment | undefined {
    const { reader } = this;
    const line = reader.line;
    const start = reader.takeAssignmentStart();
    if (start !== undefined) {
      return { ...start, value: this.value({ tildes: true, braces: true }), line };
    }
    if (reader.peek() === '-') reader.refuse(notAssignment, 'an option of `export`');
    if (reader.atWordEnd()) this.notAnAssignment(true);
    return this.quotedArgument(reader.readWord({ tildes: true, braces: true }), line);
  }

  /** `export NAME`, or `export "NAME=value"` if bash has nothing to split or to expand in it. */
  private quotedArgument(parts: readonly WordPart[], line: number): Assignment | undefined {
    const { reader } = this;
    const plain = parts.every((part) => part.quoted || isPlainText(part));
    const text = plain ? this.expand(parts) : '';
    const match = /^([A-Za-z_][A-Za-z0-9_]*)(?:(\+?)=([\s\S]*))?$/.exec(text);
    const [, name, plus, value] = match ?? [];
    if (name === undefined) {
      return reader.refuse(notAssignment, noPair, undefined, line);
    }
    if (value === undefined) return undefined;
    const literal: WordPart = { kind: 'text', text: value, quoted: true };
    return { name, append: plus === '+', value: [literal], line };
  }

  private value(options: { tildes: boolean; braces: boolean }): WordPart[] {
    if (this.reader.peek() === '(') {
      this.reader.refuse(notAssignment, 'an array `NAME=(…)`');
    }
    const value = this.reader.readWord(options);
    // Spaces, newlines and `;` end a word; any other metacharacter is an error.
    if (/[&|<>()]/.test(this.reader.peek())) this.notAnAssignment(true);
    return value;
  }

  private expand(parts: readonly WordPart[]): string {
    return parts.map((part) => (part.kind === 'text' ? part.text : this.refer(part))).join('');
  }

  private refer(part: Extract<WordPart, { kind: 'reference' }>): string {
    const { name, operator, line } = part;
    const value = this.variables.get(name);
    if (value === undefined && environmentNames.test(name)) {
      const hint =
        'Write the value itself: environment variables are not used when hook.env is read.';
      this.reader.refuse('hook-env-unsupported', `the environment variable $${name}`, hint, line);
    }
    if (operator === undefined) {
      if (value === undefined) this.warnUnset(name, line);
      return value ?? '';
    }
    const given = operator.startsWith(':')
      ? value !== undefined && value !== ''
      : value !== undefined;
    if (operator.endsWith('+')) return given ? this.expand(part.word) : '';
    if (given) return value ?? '';
    const fallback = this.expand(part.word);
    if (operator.endsWith('=')) {
      this.assign({ name, append: false, value: part.word, line }, fallback);
    }
    return fallback;
  }

  private assign({ name, append, line }: Assignment, value: string): void {
    if (unassignable.test(name)) {
      const hint = 'Use another name.';
      this.reader.refuse('hook-env-unsupported', `${name}, a variable of bash itself`, hint, line);
    }
    this.variables.set(name, append ? (this.variables.get(name) ?? '') + value : value);
    this.lines.set(name, line);
    if (value.endsWith('\r')) {
      this.warn(
        'hook-env-carriage-return',
        line,
        `${name} ends in a carriage return, as it would in bash`,
      );
    }
  }

  private decode(name: string, bytes: string): string {
    try {
      const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
      return decoder.decode(Buffer.from(bytes, 'latin1'));
    } catch {
      const line = this.lines.get(name) ?? 1;
      return this.reader.refuse('config-not-utf8', `a ${name} that is not UTF-8`, undefined, line);
    }
  }

  private warnUnset(name: string, line: number): void {
    this.warn(
      'hook-env-unset-reference',
      line,
      `$${name} is not set in this file, and is read as an empty string`,
    );
  }

  private warn(code: LogCode, line: number, message: string): void {
    this.warnings.push({ code, message, file: this.file, line });
  }

  /** Describes the construct at this position. It may be part of a secret value, so little of it is quoted. */
  private notAnAssignment(afterAnother: boolean): never {
    const { reader } = this;
    const operator = /^(?:;;|&&|\|\||;&|[;&|])/.exec(reader.restOfLine())?.[0];
    if (operator !== undefined) reader.refuse(notAssignment, `\`${operator}\``);
    if (/[<>]/.test(reader.peek())) reader.refuse(notAssignment, 'a redirection');
    if (/[()]/.test(reader.peek())) reader.refuse(notAssignment, `\`${reader.peek()}\``);
    return reader.refuse(
      notAssignment,
      afterAnother ? spilled : describeCommand(reader.restOfLine()),
    );
  }
}

const notAssignment = 'hook-env-not-an-assignment';
const noPair = 'an argument of `export` that is not NAME=value';
const spilled = 'a command after an assignment (a value with a space needs quotes)';

function isPlainText(part: WordPart): boolean {
  return part.kind === 'text' && /^[A-Za-z0-9_./+=:@%,-]*$/.test(part.text);
}

function describeCommand(line: string): string {
  const spaced = /^([A-Za-z_][A-Za-z0-9_]*)[ \t]+=/.exec(line)?.[1];
  if (spaced !== undefined)
    return `\`${spaced} =\`, which is a command (remove the space before the \`=\`)`;
  if (line.startsWith('\r')) return 'a carriage return: the file has Windows line endings';
  if (line.startsWith('\u00ef\u00bb\u00bf')) return 'a byte order mark';
  if (line.startsWith('$(') || line.startsWith('`')) return 'a substitution, which runs a command';
  if (/^[A-Za-z_][A-Za-z0-9_]*\[/.test(line)) return 'an array element';
  const known =
    /^(?:source|\.|if|then|else|fi|for|while|until|do|done|case|select|function|set|unset|eval|exec|exit|return|declare|typeset|local|readonly|alias|shopt|trap|export|test|echo|printf|cd|read|\[\[?|\{|\}|!|:)(?=[\s;]|$)/.exec(
      line,
    )?.[0];
  return known === undefined ? 'a command' : `the command \`${known}\``;
}
