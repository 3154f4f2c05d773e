import { BerthError, type ErrorCode } from '../../../system/errors/berth-error.ts';
import { decodeAnsiC } from './bash-ansi-c.ts';

/**
 * A part of a shell word. Text is a string of bytes (one character each, 0 to 255), as bash reads a file in
 * the C locale, so that `$'\xc3\xa9'` and a literal é are equal.
 */
export type WordPart =
  | { readonly kind: 'text'; readonly text: string; readonly quoted: boolean }
  | {
      readonly kind: 'reference';
      readonly name: string;
      readonly operator?: ReferenceOperator;
      readonly word: readonly WordPart[];
      readonly quoted: boolean;
      readonly line: number;
    };

const operators = [':-', ':+', ':=', '-', '+', '='] as const;
type ReferenceOperator = (typeof operators)[number];

/** The characters that end unquoted text: bash's metacharacters and the newline. */
const metacharacter = /[ \t\n;&|<>()]/;
const nameStart = /[A-Za-z_]/;
const nameCharacter = /[A-Za-z0-9_]/;

/** Reads the words of a bash script (POSIX 2.2 and 2.3) without running anything. */
export class BashWordReader {
  private position = 0;
  /** The line of the character that `peek` returns, from 1. */
  line = 1;
  private readonly source: string;
  private readonly file: string;

  constructor(source: string, file: string) {
    this.source = source;
    this.file = file;
  }

  /** The next character, '' at the end. `\` before a newline joins lines and is never returned. */
  peek(): string {
    while (this.source.startsWith('\\\n', this.position)) {
      this.position += 2;
      this.line += 1;
    }
    return this.source[this.position] ?? '';
  }

  next(): string {
    const character = this.peek();
    this.position += character.length;
    if (character === '\n') this.line += 1;
    return character;
  }

  /** The character after a backslash, where another backslash does not join lines. */
  private escaped(): string {
    return this.source[this.position] ?? '';
  }

  private nextEscaped(): string {
    const character = this.escaped();
    this.position += character.length;
    return character;
  }

  skip(count: number): void {
    for (let left = count; left > 0; left -= 1) this.next();
  }

  skipBlanks(): void {
    while (this.peek() === ' ' || this.peek() === '\t') this.next();
  }

  /** Skips to the end of the line; a backslash does not continue a comment. */
  skipComment(): void {
    const end = this.source.indexOf('\n', this.position);
    this.position = end < 0 ? this.source.length : end;
  }

  /** The rest of this line, for error messages. */
  restOfLine(): string {
    return /^[^\n]*/.exec(this.source.slice(this.position))?.[0] ?? '';
  }

  atWordEnd(): boolean {
    const character = this.peek();
    return character === '' || metacharacter.test(character);
  }

  /** Reads `NAME=` or `NAME+=`, which makes the word an assignment; otherwise the position is unchanged. */
  takeAssignmentStart(): { name: string; append: boolean } | undefined {
    const { position, line } = this;
    const name = this.takeName();
    if (name !== '') {
      const append = this.peek() === '+';
      if (append) this.next();
      if (this.peek() === '=') {
        this.next();
        return { name, append };
      }
    }
    this.position = position;
    this.line = line;
    return undefined;
  }

  private takeName(): string {
    if (!nameStart.test(this.peek())) return '';
    let name = '';
    while (nameCharacter.test(this.peek())) name += this.next();
    return name;
  }

  /**
   * Reads a word up to a metacharacter. `tildes`: where bash would expand `~` (after `=`, and after `:` in an
   * assignment), which is refused. `braces`: refuse `{`, which bash expands in the arguments of `export` but
   * not in an assignment.
   */
  readWord(options: { tildes: boolean; braces: boolean }): WordPart[] {
    const parts: WordPart[] = [];
    let tilde = options.tildes;
    while (!this.atWordEnd()) {
      const character = this.peek();
      if (character === '~' && tilde) this.refuseTilde();
      if (character === '{' && options.braces) {
        this.refuse('hook-env-unsupported', '`{` in an argument of export', quoteIt);
      }
      tilde = options.tildes && character === ':';
      this.readUnquoted(parts);
    }
    return parts;
  }

  private readUnquoted(parts: WordPart[]): void {
    const character = this.peek();
    if (character === "'") parts.push(this.singleQuoted());
    else if (character === '"') this.doubleQuoted(parts);
    else if (character === '$') this.dollar(parts, false);
    else if (character === '`') this.refuse('hook-env-not-an-assignment', 'a `…` substitution');
    else if (character === '\\') {
      this.next();
      // At the end of the file: before a newline it would have joined the lines.
      if (this.escaped() === '') {
        this.refuse('hook-env-unterminated', 'a `\\` at the end of the file');
      }
      parts.push({ kind: 'text', text: this.nextEscaped(), quoted: true });
    } else parts.push({ kind: 'text', text: this.next(), quoted: false });
  }

  private singleQuoted(): WordPart {
    const opened = this.line;
    this.next();
    const end = this.source.indexOf("'", this.position);
    if (end < 0) this.unterminated("'", opened);
    const text = this.source.slice(this.position, end);
    this.line += text.split('\n').length - 1;
    this.position = end + 1;
    return { kind: 'text', text, quoted: true };
  }

  private doubleQuoted(parts: WordPart[]): void {
    const opened = this.line;
    this.next();
    // "" is a word, although it is empty.
    parts.push({ kind: 'text', text: '', quoted: true });
    for (;;) {
      const character = this.peek();
      if (character === '') this.unterminated('"', opened);
      if (character === '"') break;
      if (character === '`') this.refuse('hook-env-not-an-assignment', 'a `…` substitution');
      if (character === '$') this.dollar(parts, true);
      else parts.push({ kind: 'text', text: this.quotedCharacter(/[$`"\\]/), quoted: true });
    }
    this.next();
  }

  /** A character in double quotes: a backslash quotes a few characters, and otherwise is kept. */
  private quotedCharacter(escapable: RegExp): string {
    const character = this.next();
    if (character !== '\\' || !escapable.test(this.escaped())) return character;
    return this.nextEscaped();
  }

  private dollar(parts: WordPart[], quoted: boolean): void {
    const { line } = this;
    this.next();
    const character = this.peek();
    if (character === "'" && !quoted) {
      parts.push(this.ansiQuoted());
      return;
    }
    // $"…" is "…", translated by a message catalogue, which a sourced file does not have.
    if (character === '"' && !quoted) {
      this.doubleQuoted(parts);
      return;
    }
    if (character === '{') {
      parts.push(this.braced(quoted, line));
      return;
    }
    if (character === '(' || character === '[') {
      const found = character === '(' ? '`$(…)`' : '`$[…]`';
      this.refuse('hook-env-not-an-assignment', `${found}, which runs a command`);
    }
    if (/[0-9@*#?$!-]/.test(character) && character !== '') {
      this.refuse(
        'hook-env-unsupported',
        `\`$${character}\`, which bash only sets while a script runs`,
      );
    }
    const name = this.takeName();
    if (name === '') parts.push({ kind: 'text', text: '$', quoted: true });
    else parts.push({ kind: 'reference', name, word: [], quoted, line });
  }

  private ansiQuoted(): WordPart {
    const opened = this.line;
    this.next();
    let end = this.position;
    while (end < this.source.length && this.source[end] !== "'") {
      end += this.source[end] === '\\' ? 2 : 1;
    }
    if (end >= this.source.length) this.unterminated("$'", opened);
    const raw = this.source.slice(this.position, end);
    this.position = end + 1;
    this.line += raw.split('\n').length - 1;
    const decoded = decodeAnsiC(raw);
    if ('problem' in decoded) {
      this.refuse('hook-env-unsupported', decoded.problem, 'Write the character itself.', opened);
    }
    return { kind: 'text', text: decoded.text, quoted: true };
  }

  private braced(quoted: boolean, line: number): WordPart {
    this.next();
    const name = this.takeName();
    const word: WordPart[] = [];
    if (name !== '' && this.peek() === '}') {
      this.next();
      return { kind: 'reference', name, word, quoted, line };
    }
    const operator = operators.find((text) => this.takeText(text));
    if (name === '' || operator === undefined) {
      this.refuse(
        'hook-env-unsupported',
        'a `${…}` that is not one of ${NAME}, ${NAME:-…}, ${NAME:+…}, ${NAME:=…}',
        'Write the value itself.',
        line,
      );
    }
    while (this.peek() !== '}') {
      const character = this.peek();
      if (character === '') this.unterminated('${', line);
      // Bash looks for the end of <(…) here, even between double quotes.
      if (character === '<' || character === '>') {
        this.refuse('hook-env-unsupported', `\`${character}\` inside \`\${…}\``, quoteIt);
      }
      if (quoted) this.readBracedQuoted(word);
      else this.readBracedUnquoted(word);
    }
    this.next();
    return { kind: 'reference', name, operator, word, quoted, line };
  }

  private readBracedUnquoted(word: WordPart[]): void {
    if (this.peek() === '~') this.refuseTilde();
    this.readUnquoted(word);
  }

  /** Inside "${…}" bash treats quotes in a way that its manual does not describe: they are refused. */
  private readBracedQuoted(word: WordPart[]): void {
    const character = this.peek();
    if (character === "'" || character === '"') {
      this.refuse('hook-env-unsupported', 'a quote inside `"${…}"`', 'Write the value itself.');
    }
    if (character === '`') this.refuse('hook-env-not-an-assignment', 'a `…` substitution');
    if (character === '$') this.dollar(word, true);
    else word.push({ kind: 'text', text: this.quotedCharacter(/[$`"\\}]/), quoted: true });
  }

  private takeText(text: string): boolean {
    const { position, line } = this;
    for (const character of text) {
      if (this.peek() !== character) {
        this.position = position;
        this.line = line;
        return false;
      }
      this.next();
    }
    return true;
  }

  private refuseTilde(): never {
    const hint = 'Write the whole path, or quote the `~`.';
    this.refuse('hook-env-unsupported', '`~`, which stands for a home directory', hint);
  }

  private unterminated(what: string, line: number): never {
    this.refuse('hook-env-unterminated', `an unclosed ${what}`, 'Close it.', line);
  }

  /** Throws. `found` names the construct, never a value. */
  refuse(code: ErrorCode, found: string, advice?: string, line = this.line): never {
    const hint = code.startsWith('hook-env-') ? (advice ?? assignmentsOnly) : undefined;
    throw new BerthError(code, `${this.file}:${line}: found ${found}`, {
      hint,
      fields: { file: this.file, line },
    });
  }
}

const quoteIt = 'Put the value in single quotes.';
const assignmentsOnly =
  'Berth reads hook.env but does not execute it. Write NAME=value lines with quoted values.';
