import { writeFile } from 'node:fs/promises';
import { BerthError, isErrno } from '../../../system/errors/berth-error.ts';
import { firstDirectoryNames, readUserFileSync } from '../../../system/user-file.ts';
import { allocationFiles, allocationsDir } from './argv/allocation-script.ts';
import type { JobRecord, SlurmPrograms } from './argv/slurm-job.ts';

/** More directories than anybody has jobs of sessions; their owner can make any number. */
const mostDirectories = 1000;

/** Where Slurm's programs look if nothing is said. */
const usualConfig = '/etc/slurm';

/** The directory of the cluster's configuration: the same number is another job on another cluster. */
export function configOf({ slurm }: SlurmPrograms): string {
  return slurm?.config ?? usualConfig;
}

/** Names of the directories of all allocations that a user has, or has had. */
export async function allocationKeys(home: string): Promise<string[]> {
  const names = await firstDirectoryNames(allocationsDir(home), mostDirectories);
  return names.filter((name) => /^[0-9a-f]{16}$/.test(name));
}

/**
 * The jobs that logins of this user have submitted to a cluster: what tells Berth's jobs from others. A site's
 * job_submit plugin may rewrite a job's name and comment, and never its number.
 *
 * @throws {BerthError} the errors of `readUserFileSync`
 */
export async function recordedJobs(slurm: SlurmPrograms): Promise<JobRecord[]> {
  const keys = await allocationKeys(slurm.home);
  return keys.flatMap((key) => {
    const record = recordIn(slurm.home, key);
    return record?.config === configOf(slurm) ? [record] : [];
  });
}

/** @returns undefined for a job that is being submitted, or whose directory is going */
export function recordIn(
  home: string,
  key: string,
): (JobRecord & { readonly config: string }) | undefined {
  const path = `${allocationsDir(home)}/${key}/${allocationFiles.job}`;
  const demands = { uid: process.getuid?.() ?? -1, maximumBytes: 4096 };
  const text = readUserFileSync(path, demands)?.toString() ?? '';
  const [, id = '', submitted, name = '', config = ''] =
    /^(\d{1,10}) (\d{1,12}) (\S+) (\/.*)\n$/.exec(text) ?? [];
  return id === '' ? undefined : { id, submitted: Number(submitted), name, config, key };
}

/** @throws {BerthError} `allocation-keys-failed` */
export async function writeRecord(slurm: SlurmPrograms, record: JobRecord): Promise<void> {
  const { id, submitted, name, key } = record;
  const path = `${allocationsDir(slurm.home)}/${key}/${allocationFiles.job}`;
  try {
    await writeFile(path, `${id} ${submitted} ${name} ${configOf(slurm)}\n`, { mode: 0o600 });
  } catch (cause) {
    // The job has started and ended, and has removed its directory.
    if (isErrno(cause, 'ENOENT')) return;
    throw new BerthError(
      'allocation-keys-failed',
      `could not record Slurm job ${id} in ${path}: ${(cause as Error).message}; the job was cancelled`,
      {
        forUser: true,
        cause,
      },
    );
  }
}
