import { batchWords } from '../../../../config/schema/profile/batch-words.ts';
import type { Profile } from '../../../../config/schema/profile/profile.ts';

/**
 * What the profile asks of Slurm, as options of sbatch(1).
 *
 * @param more options that replace those of the profile; one that takes no value has ''
 */
export function sbatchOptions(
  { name, batch, limits, timeouts }: Profile,
  more: Readonly<Record<string, string>> = {},
): string[] {
  const time = jobTimeLimit({ batch, timeouts });
  const options = {
    'job-name': name,
    ...Object.fromEntries(batchWords.map((word) => [word, batch[word]])),
    time: time === undefined ? undefined : slurmTime(time),
    ntasks: 1,
    'cpus-per-task': limits.cpus === undefined ? undefined : Math.ceil(limits.cpus),
    mem: limits.memory === undefined ? undefined : `${Math.ceil(limits.memory / 1024)}K`,
    ...more,
  };
  return Object.entries(options).flatMap(([option, value]) =>
    value === undefined ? [] : [value === '' ? `--${option}` : `--${option}=${value}`],
  );
}

/** The time limit that a profile's batch jobs ask for, if it has one. Milliseconds. */
function jobTimeLimit({
  batch,
  timeouts,
}: Pick<Profile, 'batch' | 'timeouts'>): number | undefined {
  return batch.timeMs ?? timeouts.hardMs;
}

/** The same of jobs that hold sessions, notebook servers and apps: they get no more than the hard limit of sessions. Milliseconds. */
export function sessionTimeLimit({ batch, timeouts }: Profile): number | undefined {
  const shortest = Math.min(batch.timeMs ?? Infinity, timeouts.hardMs ?? Infinity);
  return shortest === Infinity ? undefined : shortest;
}

/** `D-HH:MM:SS`. */
function slurmTime(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60)];
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${Math.floor(hours / 24)}-${[hours % 24, minutes % 60, seconds % 60].map(two).join(':')}`;
}
