import { existsSync } from 'node:fs';
import { takeLock } from '../../system/file-lock.ts';
import { allocationsDir } from './argv/allocation-script.ts';
import { jobName, type SlurmJob } from './argv/slurm-job.ts';
import { type AllocationInput, submitAllocation, removeLeftovers } from './submit-allocation.ts';
import { openJobs } from './slurm-queue.ts';

/** Submitting takes below a second where slurmctld answers. Milliseconds. */
const submitMs = 120_000;

/**
 * The job of this profile's sessions: the open one if there is any, else a new one. Of several logins at the same
 * moment, also on different login nodes, one submits it.
 *
 * @throws {BerthError} `slurm-unavailable`, `slurm-refused`, `allocation-keys-failed`, `lock-timeout`
 */
export async function joinOrSubmitAllocation(
  input: AllocationInput,
  beforeSubmit: () => void,
): Promise<SlurmJob> {
  const { slurm, host, profile } = input;
  const name = jobName(profile, host.connection);
  // A job that ends removes its keys first. Slurm says for some seconds more that it runs.
  const isOfProfile = (job: SlurmJob): boolean =>
    job.name === name && existsSync(`${allocationsDir(host.user.home)}/${job.key}`);
  const open = (await openJobs(slurm)).find(isOfProfile);
  if (open !== undefined) return open;
  const lock = await takeLock(`${allocationsDir(host.user.home)}/${name}.lock`, {
    ...{ waitMs: submitMs, foreignStaleMs: submitMs },
  });
  try {
    const jobs = await openJobs(slurm);
    const meanwhile = jobs.find(isOfProfile);
    if (meanwhile !== undefined) return meanwhile;
    await removeLeftovers(
      host.user.home,
      jobs.map(({ key }) => key),
    );
    beforeSubmit();
    const { id, key } = await submitAllocation(input, name);
    const pending = {
      state: 'PENDING',
      reason: 'None',
      node: '',
      end: undefined,
      start: undefined,
    };
    return { id, name, key, ...pending };
  } finally {
    await lock?.release();
  }
}
