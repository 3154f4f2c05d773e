import { assignmentLines, environmentLines } from '../../request/environment-lines.ts';

/**
 * Arguments and environment for a command in a pod. The argv of an exec is part of its URI, which the API server writes to
 * its audit log, and it is visible in the process list. So it is the same for every command, and a shell reads the rest
 * from the beginning of standard input, line by line. sh(1) does not read beyond a line, so the command gets the rest.
 */
export interface CommandPreamble {
  /** Program and arguments. */
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Shell commands that run right before it; "$@" is `words`. */
  readonly before?: string;
  /** As `groupsText`: in a pod that was created with other groups the command does not start. */
  readonly groups?: string;
}

/** Ends with another character than the one an exit marker begins with, so that nothing after it is held back. */
const markBegin = (nonce: string): string => `\u001eberth begins ${nonce}`;
const markEnd = '\u001f';
const inScript = (words: string): string => String.raw`printf '\036berth begins %s\037' "${words}"`;

/** A pod that an older Berth created does not have BERTH_GROUPS. */
function sameGroups(groups: string): string {
  return `[ "\${BERTH_GROUPS-${groups}}" = "${groups}" ] || { ${inScript('$0 $BERTH_GROUPS')}; exit 0; }; `;
}

/** Longer than the groups of any user. Bytes. */
const longestAnswer = 64 * 1024;

/** A newline for the reading shell, without starting a process. */
const newline = '$berth_nl';

/**
 * Shell commands that read an opening and execute the command, with the nonce as $0. An incomplete opening runs nothing.
 * Warnings of the shell, for example about a locale that the image lacks, are discarded.
 */
export const readPreamble = [
  `berth_run= berth_nl='\n'`,
  'while [ -z "$berth_run" ] && IFS= read -r berth_line; do eval "$berth_line"; done 2>/dev/null',
  'eval "${berth_run:-exit 255}"',
].join('; ');

/** The lines of an opening. No line is longer than a terminal accepts, because there may be one in between. */
export function preambleLines({ words, env, before = ':', groups }: CommandPreamble): string[] {
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

/** Removes from standard output what came before the command: a terminal echoes the opening. */
export class StartMarker {
  readonly #begin: Buffer;
  #held = Buffer.alloc(0);
  #answer: string | undefined;

  constructor(nonce: string) {
    this.#begin = Buffer.from(markBegin(nonce));
  }

  get begun(): boolean {
    return this.#answer === '';
  }

  /** The groups of the pod, if the command was not started because of them. */
  get declined(): string | undefined {
    return this.#answer === '' ? undefined : this.#answer?.trim();
  }

  /** @returns the part that the command wrote */
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
