import { stripVTControlCharacters } from 'node:util';

/** Where a story is told: a terminal, a pipe, a file. */
export interface Audience {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** Who types a command. Root's prompt is `#`, as in a shell. */
export type Typist = 'root' | (string & {});

/**
 * A demo as a reader of a terminal sees it: numbered steps, each with a sentence, the commands as a
 * person would type them, and what they answered.
 */
export class Story {
  readonly #audience: Audience;
  readonly #colour: boolean;
  #steps = 0;

  constructor(audience: Audience, env: Readonly<Record<string, string | undefined>>) {
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

  command(who: Typist, line: string): void {
    const prompt = who === 'root' ? '#' : `${who}$`;
    this.#line(`   ${this.#paint('36', prompt)} ${this.#paint('1', line)}`);
  }

  /** What a command answered; control characters of servers and users do not reach the terminal. */
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
