import { createInterface } from 'node:readline/promises';
import { BerthError, expectBerthError } from '../../system/errors/berth-error.ts';
import { usageError } from '../../system/errors/usage-error.ts';
import { escapedForTerminal } from '../../log.ts';
import { assertRoot } from '../../system/as-user.ts';
import { type ArgumentsOf, flag, listValues } from './options.ts';
import type { Terminal } from './terminal.ts';

/** A question of `berth init`, which an option of the same name answers, too. */
export interface Question {
  readonly option: string;
  readonly text: string;
  /**
   * The answer if the admin presses Enter, and with --yes; it may depend on the answers so far. Absent if only the admin
   * knows it.
   */
  readonly fallback?: string | ((answers: ReadonlyMap<string, string>) => string);
  /** False: without the option, the fallback is the answer. */
  readonly asked?: boolean;
  /** Why an answer cannot be used, as the end of a sentence. @throws {BerthError} the same, with a code of its own */
  readonly problem?: (answer: string) => string | undefined | Promise<string | undefined>;
}

/** Asks on the terminal: questions are on standard error, so that standard output has the result only. */
export interface Asker {
  /** Whether there is an admin to ask. */
  readonly asks: boolean;
  answers(
    questions: readonly Question[],
    given: Readonly<Record<string, string | undefined>>,
  ): Promise<ReadonlyMap<string, string>>;
  /** @returns false without a terminal, and if the admin presses Enter */
  confirm(text: string): Promise<boolean>;
}

/** Options of every `berth init`. */
export const flowOptions = {
  yes: flag('Do not ask: use the defaults, and leave files that somebody has edited'),
  'dry-run': flag('Print what would be written and run, and do nothing'),
};

export type FlowArguments = ArgumentsOf<typeof flowOptions>;

interface WithoutQuestions {
  /** Take the fallback of each question that no option answers. */
  readonly yes: boolean;
  /** Nothing is to be confirmed. */
  readonly 'dry-run'?: boolean;
}

/**
 * @throws {BerthError} `not-root`, unless it is a dry run; from `answers` those of the questions and `usage`, which names the
 *   options that are missing; `init-cancelled`
 */
export function asker(command: string, without: WithoutQuestions, terminal: Terminal): Asker {
  const asks = !without.yes && terminal.stdinIsTTY;
  if (without['dry-run'] !== true) assertRoot();
  const read = lineReader(terminal);
  return {
    asks,
    answers: async (questions, given) => {
      const answers = new Map<string, string>();
      const fallbackOf = ({ fallback }: Question): string | undefined =>
        typeof fallback === 'function' ? fallback(answers) : fallback;
      const take = async (question: Question, answer = fallbackOf(question) ?? '') => {
        if (answer !== '') await assertValid(command, question, answer);
        answers.set(question.option, answer);
      };
      for (const question of questions) {
        const answer = given[question.option];
        if (answer !== undefined || question.asked === false) await take(question, answer);
      }
      const open = questions.filter(({ option }) => !answers.has(option));
      if (!asks) assertAnswered(command, without, open);
      for (const question of open) {
        if (asks)
          answers.set(question.option, await ask(question, fallbackOf(question), read, terminal));
        else await take(question);
      }
      return answers;
    },
    confirm: async (text) =>
      asks && /^y(?:es)?$/i.test((await read(`${text} [y/N] `, true)).trim()),
  };
}

/** @param fresh lines that were typed before the question do not answer it */
type Read = (prompt: string, fresh?: boolean) => Promise<string>;

async function ask(
  question: Question,
  fallback: string | undefined,
  read: Read,
  terminal: Terminal,
): Promise<string> {
  const { text } = question;
  const shown =
    fallback === undefined ? '' : ` [${fallback === '' ? 'none' : escapedForTerminal(fallback)}]`;
  for (;;) {
    const typed = (await read(`${text}${shown}: `)).trim();
    const word = question.problem === yesOrNo ? wholeWord(typed) : typed;
    const answer = word === '' && fallback !== undefined ? fallback : word;
    const wrong =
      answer === '' && fallback !== '' ? 'an answer is needed' : await problemOf(question, answer);
    if (wrong === undefined) return answer;
    terminal.stderr.write(`${answer === '' ? '' : `${escapedForTerminal(answer)}: `}${wrong}\n`);
  }
}

/**
 * Reads lines from the terminal. It is in raw mode only during a question, so that Ctrl-C ends programs that are run
 * between questions. Lines that were pasted at once answer the following questions.
 */
function lineReader(terminal: Terminal): Read {
  const pasted: string[] = [];
  let rest = '';
  return async (prompt, fresh = false) => {
    if (fresh) {
      pasted.length = 0;
      rest = '';
    }
    const line = pasted.shift();
    if (line !== undefined) {
      terminal.stderr.write(`${prompt}${line}\n`);
      return line;
    }
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    let answered = false;
    try {
      const first = await new Promise<string>((resolve, reject) => {
        lines.on('line', (text) => {
          if (answered) pasted.push(text);
          else resolve(text);
          answered = true;
        });
        // Ctrl-C and Ctrl-D.
        lines.once('SIGINT', () => reject(cancelled())).once('close', () => reject(cancelled()));
        lines.setPrompt(prompt);
        lines.prompt();
        if (rest !== '') lines.write(rest);
      });
      rest = lines.line;
      return first;
    } catch (error) {
      terminal.stderr.write('\n');
      throw error;
    } finally {
      lines.close();
    }
  };
}

function cancelled(): BerthError {
  return new BerthError('init-cancelled', 'the question was not answered; nothing was written');
}

async function problemOf({ problem }: Question, answer: string): Promise<string | undefined> {
  try {
    return await problem?.(answer);
  } catch (thrown) {
    expectBerthError(thrown);
    return thrown.message;
  }
}

async function assertValid(
  command: string,
  { option, problem }: Question,
  answer: string,
): Promise<void> {
  const wrong = await problem?.(answer);
  if (wrong !== undefined) throw usageError(command, `--${option} ${answer}: ${wrong}`);
}

/** @param open questions that no option answers */
function assertAnswered(
  command: string,
  { yes, 'dry-run': dryRun = false }: WithoutQuestions,
  open: readonly Question[],
): void {
  const [needed, others] = [true, false].map((isNeeded) =>
    open
      .filter(({ fallback }) => (fallback === undefined) === isNeeded)
      .map(({ option }) => `--${option}`)
      .join(', '),
  );
  if (yes && needed !== '') throw usageError(command, `there is no default for ${needed}`);
  if (yes || (dryRun && open.length === 0)) return;
  const more = needed === '' ? '' : `, ${needed}`;
  const defaults = others === '' ? '' : `; the defaults of ${others} then apply`;
  throw usageError(command, `there is no terminal to ask on: give --yes${more}${defaults}`);
}

/** The values of an option for a question that is answered with yes or no. */
export const yesAndNo = ['yes', 'no'] as const;

/** The problem of an answer that is neither. */
export function yesOrNo(answer: string): string | undefined {
  return yesAndNo.some((one) => one === answer) ? undefined : 'must be yes or no';
}

/** On a terminal, `y` and `n` are answers, too, in any case. */
function wholeWord(typed: string): string {
  const word = yesAndNo.find((one) => one.startsWith(typed.toLowerCase()));
  return typed === '' ? typed : (word ?? typed);
}

/** The words of an answer that is a list. */
export function splitAnswer(text: string): string[] {
  return listValues(text.split(/\s+/));
}
