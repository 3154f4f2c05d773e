import { seededRandom } from '../../../../rig/seeded-random.ts';
import { ansiPieces, faults, plainPieces, quotedPieces, soupPieces } from './hook-env-pieces.ts';

/**
 * Makes hook.env files for the comparison with bash, always the same ones for the same seed.
 */
export interface CorpusFile {
  readonly text: Buffer;
  /** What the generator knows: bash's assignments only, a planted fault, or anything at all. */
  readonly expect: 'accepted' | { readonly rejectedAtLine: number } | 'whatever';
}

const names = ['A', 'B', 'C', 'CLIENT_SECRET', 'NAMESPACE_PREFIX', '_x', 'a1', 'export_me'];

/** Every form a site writes, then what no site should and bash still takes. */
class Generator {
  private readonly chance: () => number;

  constructor(seed: number) {
    this.chance = seededRandom(seed);
  }

  below(count: number): number {
    return Math.floor(this.chance() * count);
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  many(most: number, make: () => string): string {
    return Array.from({ length: this.below(most + 1) }, make).join('');
  }

  /** Text without meaning for bash, outside quotes. */
  plain(): string {
    return this.pick(plainPieces);
  }

  inDouble(): string {
    return this.below(12) < 2 ? this.reference(true) : this.pick(quotedPieces);
  }

  ansi(): string {
    return this.pick(ansiPieces);
  }

  reference(quoted: boolean): string {
    const name = this.pick(names);
    const operator = this.pick([':-', '-', ':+', '+', ':=', '=']);
    const word = this.many(3, () => (quoted ? this.bracedQuoted() : this.bracedPlain()));
    return this.pick([`$${name}`, `\${${name}}`, `\${${name}${operator}${word}}`]);
  }

  bracedQuoted(): string {
    return this.pick([
      'a',
      ' ',
      '\n',
      ';',
      '#',
      '\\}',
      '\\$',
      '\\"',
      '\\x',
      '{',
      '\\\\',
      '~',
      '(',
      '*',
      '\\\n',
      '$B',
      '${C}',
      '${B:-c}',
    ]);
  }

  bracedPlain(): string {
    return this.pick([
      'a',
      ' ',
      ';',
      '#',
      '\\}',
      '\\$',
      "'}'",
      '"}"',
      '"a b"',
      '{',
      '(',
      ')',
      '&',
      '*',
      '\\\n',
      '\n',
      '$B',
      '${C:-d}',
      "$'\\n'",
      '"$B"',
      '=',
    ]);
  }

  piece(): string {
    switch (this.below(7)) {
      case 0:
        return `'${this.many(4, () => this.pick(['a', ' ', '"', '\\', '\n', '$A', '`x`', '$(y)', '#', ';', 'é', '\\\n', '\r']))}'`;
      case 1:
      case 2:
        return `"${this.many(6, () => this.inDouble())}"`;
      case 3:
        return `$'${this.many(5, () => this.ansi())}'`;
      case 4:
        return this.pick([this.reference(false), `$"${this.many(3, () => this.inDouble())}"`]);
      case 5:
        return `\\${this.pick(['a', ' ', '"', "'", '\\', '$', '`', ';', '&', '|', '<', '(', '#', '~', '\n', '\t'])}`;
      default:
        return this.plain();
    }
  }

  value(): string {
    // A line that is joined must not begin with what only joining makes dangerous.
    return this.many(4, () => this.piece());
  }

  assignment(): string {
    return `${this.pick(names)}${this.pick(['=', '=', '=', '+='])}${this.value()}`;
  }

  exportWord(): string {
    // Outside an assignment bash expands braces.
    const word = `${this.pick(names)}${this.pick(['=', '+='])}${this.value().replaceAll(/[{}]/g, 'x')}`;
    return this.pick([
      word.includes('$x') ? 'A=1' : word,
      this.pick(names),
      `"${this.pick(names)}=a b"`,
      `'B=$x'`,
    ]);
  }

  blank(): string {
    return this.pick([' ', '  ', '\t', ' \\\n ', ' ']);
  }

  statement(): string {
    const words = 1 + this.below(3);
    const exporting = this.below(3) === 0;
    const made = Array.from({ length: words }, () =>
      exporting ? this.exportWord() : this.assignment(),
    );
    return (exporting ? `export${this.blank()}` : '') + made.join(this.blank());
  }

  line(): string {
    const comment = this.pick(['', '', '', ' # a comment; with "quotes', '\t#', ' #\\']);
    switch (this.below(6)) {
      case 0:
        return this.pick(['', '  ', '# $(comment) `x` \\', '\t# "unclosed', '#']);
      case 1:
        return `${this.statement()};${this.pick(['', ' '])}${this.statement()}${this.pick(['', ';', ' ;'])}${comment}`;
      default:
        return `${this.pick(['', '', '  ', '\t'])}${this.statement()}${comment}`;
    }
  }

  /** Files of assignments only. */
  good(): CorpusFile {
    const lines = Array.from({ length: 1 + this.below(8) }, () => this.line());
    const end = this.pick(['\n', '\n', '']);
    return { text: Buffer.from(lines.join('\n') + end), expect: 'accepted' };
  }

  /** One fault after lines that are fine; the line where it stands is known. */
  faulty(): CorpusFile {
    const before = Array.from({ length: this.below(5) }, () =>
      this.pick(['A=1', "B='x\ny'", '# c', 'C="a\\\nb" # d', '', 'export A=b B=c;']),
    );
    const fault = this.pick(faults);
    const at = before.join('\n').split('\n').length + (before.length > 0 ? 1 : 0);
    const text = [...before, fault, 'B=after'].join('\n');
    return { text: Buffer.from(text), expect: { rejectedAtLine: at } };
  }

  /** Tricky characters in any order: whatever is accepted must be what bash reads. */
  soup(): CorpusFile {
    return {
      text: Buffer.from(
        `${this.pick(['A=', '', 'export B='])}${Array.from({ length: this.below(14) }, () => this.pick(soupPieces)).join('')}`,
      ),
      expect: 'whatever',
    };
  }
}

/** `count` files from one seed: 5 of 10 are assignments, 2 have a planted fault, 3 are soup. */
export function makeCorpus(seed: number, count: number): CorpusFile[] {
  const generator = new Generator(seed);
  return Array.from({ length: count }, (_, index) => {
    if (index % 10 < 5) return generator.good();
    return index % 10 < 7 ? generator.faulty() : generator.soup();
  });
}
