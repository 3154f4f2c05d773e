import { assignmentLines, environmentLines } from '../../../request/environment-lines.ts';

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
  /** As `groupsText`: a pod that was made with others declines. */
  readonly groups?: string;
}

/** Ends by another character than the mark of an end begins with: nobody waits for what comes after it. */
const markBegin = (nonce: string): string => `\u001eberth begins ${nonce}`;
const markEnd = '\u001f';
const inScript = (words: string): string => String.raw`printf '\036berth begins %s\037' "${words}"`;

/** A pod of an older Berth does not say with which groups it was made. */
function sameGroups(groups: string): string {
  return `[ "\${BERTH_GROUPS-${groups}}" = "${groups}" ] || { ${inScript('$0 $BERTH_GROUPS')}; exit 0; }; `;
}

/** More groups no user has. Bytes. */
const longestAnswer = 64 * 1024;

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
export function openingLines({ words, env, before = ':', groups }: Opening): string[] {
  const check = groups === undefined ? '' : sameGroups(groups);
  const run = `${check}unset BERTH_GROUPS; ${inScript('$0')}; ${before}; exec "$@"`;
  return [
    ...words.flatMap((word) => [
      ...assignmentLines('berth_word', word, newline),
      'set -- "$@" "$berth_word"',
    ]),
    ...environmentLines(env),
    ...assignmentLines('berth_last', run, newline),
    'berth_run=$berth_last',
  ];
}

const none = Buffer.alloc(0);

/** Takes out of standard output what was there before the command: a terminal shows what it is sent. */
export class BeginMark {
  readonly #begin: Buffer;
  #held = Buffer.alloc(0);
  #answer: string | undefined;

  constructor(nonce: string) {
    this.#begin = Buffer.from(markBegin(nonce));
  }

  get begun(): boolean {
    return this.#answer === '';
  }

  /** The groups that the pod was made with, where it declined. */
  get declined(): string | undefined {
    return this.#answer === '' ? undefined : this.#answer?.trim();
  }

  /** @returns What of it is the command's. */
  pass(bytes: Buffer): Buffer {
    if (this.#answer !== undefined) return this.begun ? bytes : none;
    const data = Buffer.concat([this.#held, bytes]);
    const at = data.indexOf(this.#begin);
    const from = at + this.#begin.length;
    const end = at < 0 ? -1 : data.indexOf(markEnd, from);
    if (end >= 0) {
      this.#answer = data.toString('latin1', from, end);
      return this.begun ? data.subarray(end + markEnd.length) : none;
    }
    const kept = at < 0 ? Math.max(0, data.length - this.#begin.length + 1) : at;
    this.#held = Buffer.from(data.subarray(kept, kept + longestAnswer));
    return none;
  }
}
