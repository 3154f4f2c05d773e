import { BerthError, type ErrorCode } from '../../errors.ts';
import { decodeAnsiC } from './bash-ansi-c.ts';

/**
 * A piece of a shell word. Text is a string of bytes (one character each, 0 to 255), as bash reads a
 * file in the C locale, so that `$'\xc3\xa9'` and a literal é come out the same.
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

/** Where unquoted text ends: bash's metacharacters and the newline. */
const metacharacter = /[ \t\n;&|<>()]/;
const nameStart = /[A-Za-z_]/;
const nameCharacter = /[A-Za-z0-9_]/;

/** Reads words of a bash script, POSIX 2.2 and 2.3, without running anything. */
export class BashWordReader {
  private position = 0;
  /** The line of the character that `peek` shows, from 1. */
  line = 1;
  private readonly source: string;
  private readonly file: string;

  constructor(source: string, file: string) {
    this.source = source;
    this.file = file;
  }

  /** The next character, '' at the end; `\` with a newline joins lines and is never seen. */
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

  /** The character after a backslash: there no further backslash joins lines. */
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

  /** To the end of the line; a backslash does not continue a comment. */
  skipComment(): void {
    const end = this.source.indexOf('\n', this.position);
    this.position = end < 0 ? this.source.length : end;
  }

  /** What is left of this line, to say what was found. */
  restOfLine(): string {
    return /^[^\n]*/.exec(this.source.slice(this.position))?.[0] ?? '';
  }

  atWordEnd(): boolean {
    const character = this.peek();
    return character === '' || metacharacter.test(character);
  }

  /** `NAME=` or `NAME+=` if it stands here, which makes the word an assignment; else nothing moves. */
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
   * The word that starts here, up to a metacharacter. `tildes`: where bash would put a home in place
   * of `~` (after `=`, and after `:` in an assignment), which is refused. `braces`: refuse `{`,
   * which bash expands in the arguments of `export` and not in an assignment.
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
      // Only at the end of the file: a newline would have joined the lines.
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
    // "" makes the word exist although nothing is in it.
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

  /** A character between double quotes: a backslash quotes a few characters, and else stays. */
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
    // $"…" is "…", translated where a message catalogue is bound; a sourced file has none.
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
      this.refuse('hook-env-not-an-assignment', `${found}, which runs something`);
    }
    if (/[0-9@*#?$!-]/.test(character) && character !== '') {
      this.refuse('hook-env-unsupported', `\`$${character}\`, which only a running script has`);
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
        'Write the value out.',
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

  /** Inside "${…}" bash counts single quotes and keeps them; what that means is best not guessed. */
  private readBracedQuoted(word: WordPart[]): void {
    const character = this.peek();
    if (character === "'" || character === '"') {
      this.refuse('hook-env-unsupported', 'a quote inside `"${…}"`', 'Write the value out.');
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
    const hint = 'Write the folder out in full, or quote the `~`.';
    this.refuse('hook-env-unsupported', '`~`, which stands for a home', hint);
  }

  private unterminated(what: string, line: number): never {
    this.refuse('hook-env-unterminated', `a ${what} that is never closed`, 'Close it.', line);
  }

  /** Ends the reading: `found` names the construct, never what a value holds. */
  refuse(code: ErrorCode, found: string, hint = assignmentsOnly, line = this.line): never {
    throw new BerthError(`${this.file}:${line}: found ${found}`, {
      code,
      exit: 'config',
      hint,
      fields: { file: this.file, line },
    });
  }
}

const quoteIt = 'Put the value in single quotes.';
const assignmentsOnly =
  'hook.env is read without running it: write NAME=value lines, with the value itself in quotes.';
