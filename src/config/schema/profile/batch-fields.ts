import * as z from 'zod/mini';
import { durationBetween } from '../duration-schema.ts';

/** A word of an `#SBATCH` line: it can end neither the word, nor the line, nor be an option of its own. */
const word = (characters: string) =>
  z
    .string()
    .check(
      z.regex(
        new RegExp(`^(?!-)[A-Za-z0-9_.,:=/+@${characters}-]{1,200}$`),
        'must be one word for sbatch(1), without blanks, quotes, `#` or `$`, and not begin with `-`',
      ),
    );

/** The key `batch` of a profile, named after the options of sbatch(1). */
export const batchSchema = z.strictObject({
  partition: z.optional(word('')),
  account: z.optional(word('')),
  qos: z.optional(word('')),
  gres: z.optional(word('()')),
  constraint: z.optional(word('()[\\]&|!*')),
  time: z.optional(durationBetween('1s', '8760h')),
});

/** What a profile asks of Slurm; processors and memory are its `limits`. */
export interface BatchFields extends Readonly<
  Partial<Record<'partition' | 'account' | 'qos' | 'gres' | 'constraint', string>>
> {
  /** The time limit of a job. Milliseconds. */
  readonly timeMs?: number;
}

export function batchFields({ time, ...words }: z.output<typeof batchSchema> = {}): BatchFields {
  return { ...words, timeMs: time };
}
