import { stripVTControlCharacters } from 'node:util';

/** Where the demo is printed: a terminal, a pipe or a file. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** The user who runs a command; root's prompt is `#`. */
export type CommandUser = 'root' | (string & {});

/**
 * Prints the demo: numbered steps with sentences, the commands as a user would type them, and their output.
 */
export class Story {
  readonly #audience: Output;
  readonly #colour: boolean;
  #steps = 0;

  constructor(audience: Output, env: Readonly<Record<string, string | undefined>>) {
    this.#audience = audience;
    this.#colour = audience.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
  }

  step(title: string): void {
    this.#steps += 1;
    this.#line(`\n${this.#paint('1', `${this.#steps}. ${title}`)}`);
  }

  say(text: string): void {
    for (const line of text.split('\n')) this.#line(line === '' ? '' : `   ${line}`);
  }

  command(who: CommandUser, line: string): void {
    const prompt = who === 'root' ? '#' : `${who}$`;
    this.#line(`   ${this.#paint('36', prompt)} ${this.#paint('1', line)}`);
  }

  /** Prints the output of a command without control characters. */
  output(text: string): void {
    if (text.trim() === '') return;
    for (const line of text.trimEnd().split('\n'))
      this.#line(`     ${this.#paint('2', stripVTControlCharacters(line))}`);
  }

  #paint(code: string, text: string): string {
    return this.#colour ? `\x1b[${code}m${text}\x1b[0m` : text;
  }

  #line(text: string): void {
    this.#audience.write(`${text}\n`);
  }
}
