import * as z from 'zod/mini';
import { matching, optionalKeys } from '../schema-parts.ts';
import type { batchWords } from './batch-words.ts';
import { cpus, size } from './quantities.ts';
import { durationBetween } from '../duration-schema.ts';

/** A word of an `#SBATCH` line: it can end neither the word, nor the line, nor be an option of its own. */
const word = (characters: string) =>
  matching(
    new RegExp(`^(?!-)[A-Za-z0-9_.,:=/+@${characters}-]{1,200}$`),
    'must be one word for sbatch(1), without blanks, quotes, `#` or `$`, and not begin with `-`',
  );

/** What clients may choose from: these words, or whatever Slurm lets the user have. */
const choiceOf = (one: ReturnType<typeof word>) =>
  z.union([z.literal('any'), z.array(one).check(z.minLength(1))], {
    error: 'must be a list, or any',
  });

/** The key `batch.choose` of a profile. */
const chooseSchema = optionalKeys({
  time: z.strictObject({ max: durationBetween('1s', '8760h') }),
  cpus: z.strictObject({ max: cpus }),
  memory: z.strictObject({ max: size }),
  partition: choiceOf(word('')),
  account: choiceOf(word('')),
  qos: choiceOf(word('')),
  gres: choiceOf(word('()')),
  constraint: choiceOf(word('()[\\]&|!*')),
  reservation: choiceOf(word('')),
  licenses: choiceOf(word('')),
});

/** The key `batch` of a profile, named after the options of sbatch(1). */
export const batchSchema = optionalKeys({
  partition: word(''),
  account: word(''),
  qos: word(''),
  gres: word('()'),
  constraint: word('()[\\]&|!*'),
  reservation: word(''),
  licenses: word(''),
  time: durationBetween('1s', '8760h'),
  wait: durationBetween('1s', '8760h'),
  choose: chooseSchema,
});

/** What a profile asks of Slurm; processors and memory are its `limits`. */
export interface BatchFields extends Readonly<
  Partial<Record<(typeof batchWords)[number], string>>
> {
  /** The time limit of a job. Milliseconds. */
  readonly timeMs?: number;
  /** How long a session waits for its allocation. Milliseconds. */
  readonly waitMs?: number;
  /** What clients may choose instead. */
  readonly choose?: BatchChoices;
}

/** Limits and lists; a key that is absent cannot be chosen. */
export interface BatchChoices extends Readonly<
  Partial<Record<(typeof batchWords)[number], 'any' | readonly string[]>>
> {
  readonly time?: { readonly max: number };
  readonly cpus?: { readonly max: number };
  readonly memory?: { readonly max: number };
}

export function batchFields({
  time,
  wait,
  ...words
}: z.output<typeof batchSchema> = {}): BatchFields {
  return { ...words, timeMs: time, waitMs: wait };
}
