import { assignmentLines, environmentLines } from '../environment-lines.ts';

/**
 * What a command in a pod is told. The words of an exec are in its URI, which the API server writes to its
 * audit log, and on a command line: so they are the same for all, and a shell reads the rest from the
 * beginning of its standard input, a line at a time. sh(1) takes not a byte more than a line, and the
 * command has what follows.
 */
export interface Opening {
  /** The first is the program. */
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Shell commands right before it, in which "$@" are the words. */
  readonly before?: string;
}

/** Ends by another character than the mark of an end begins with: nobody waits for what comes after it. */
const mark = (nonce: string): string => `\u001eberth begins ${nonce}\u001f`;
const inScript = String.raw`printf '\036berth begins %s\037' "$0"`;

/** Of the shell that reads: a newline that costs no process. */
const newline = '$berth_nl';

/**
 * Shell commands that read an opening and become the command, with the nonce as $0. Of half an opening
 * nothing is run. Whatever a shell has to say to a locale that the image lacks is for nobody.
 */
export const readOpening = [
  `berth_run= berth_nl='\n'`,
  'while [ -z "$berth_run" ] && IFS= read -r berth_line; do eval "$berth_line"; done 2>/dev/null',
  'eval "${berth_run:-exit 255}"',
].join('; ');

/** The lines of an opening. There may be a terminal on their way: none is longer than it takes. */
export function openingLines({ words, env, before = ':' }: Opening): string[] {
  return [
    ...words.flatMap((word) => [
      ...assignmentLines('berth_word', word, newline),
      'set -- "$@" "$berth_word"',
    ]),
    ...environmentLines(env),
    ...assignmentLines('berth_last', `${inScript}; ${before}; exec "$@"`, newline),
    'berth_run=$berth_last',
  ];
}

/** Takes out of standard output what was there before the command: a terminal shows what it is sent. */
export class BeginMark {
  readonly #mark: Buffer;
  #held = Buffer.alloc(0);
  #begun = false;

  constructor(nonce: string) {
    this.#mark = Buffer.from(mark(nonce));
  }

  get begun(): boolean {
    return this.#begun;
  }

  /** @returns What of it is the command's. */
  pass(bytes: Buffer): Buffer {
    if (this.#begun) return bytes;
    const data = Buffer.concat([this.#held, bytes]);
    const at = data.indexOf(this.#mark);
    this.#begun = at >= 0;
    if (this.#begun) return data.subarray(at + this.#mark.length);
    this.#held = Buffer.from(data.subarray(Math.max(0, data.length - this.#mark.length + 1)));
    return Buffer.alloc(0);
  }
}
