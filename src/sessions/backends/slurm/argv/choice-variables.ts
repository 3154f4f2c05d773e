import { batchWords } from '../../../../config/schema/profile/batch-words.ts';
import type { Profile } from '../../../../config/schema/profile/profile.ts';
import { BerthError } from '../../../../system/errors/berth-error.ts';

/** What clients can choose of a job. */
export type ChoiceKey = keyof NonNullable<Profile['batch']['choose']>;

const choiceKeys: readonly ChoiceKey[] = ['time', 'cpus', 'memory', ...batchWords];

/** The variable by which a client chooses: `BERTH_TIME` for `time`. */
export function choiceVariable(key: ChoiceKey): string {
  return `BERTH_${key.toUpperCase()}`;
}

/** The first that a client chooses. @param env the environment that sshd set */
export function firstChoice(
  env: Readonly<NodeJS.ProcessEnv>,
): readonly [key: ChoiceKey, text: string] | undefined {
  for (const key of choiceKeys) {
    const text = env[choiceVariable(key)];
    if (text !== undefined) return [key, text];
  }
  return undefined;
}

export function choiceRefused(key: ChoiceKey, text: string, why: string): BerthError {
  const shown = JSON.stringify(text.slice(0, 100));
  return new BerthError(
    'slurm-choice-refused',
    `${choiceVariable(key)}=${shown} is not possible: ${why}`,
    {
      forUser: true,
    },
  );
}
