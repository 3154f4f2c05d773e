import { takeLock } from '../../../system/file-lock.ts';
import { allocationsDir } from './argv/allocation-script.ts';
import { jobName, type JobRecord, type SlurmJob } from './argv/slurm-job.ts';
import { recordedJobs } from './allocation-records.ts';
import { type AllocationInput, submitAllocation, removeLeftovers } from './submit-allocation.ts';
import { openJobs } from './slurm-queue.ts';

/** Submitting takes below a second where slurmctld answers. Milliseconds. */
const submitMs = 120_000;

/**
 * The job of this profile's sessions: the open one if there is any, else a new one. Of several logins at the same
 * moment, also on different login nodes, one submits it. slurmctld is asked once, and of jobs that were submitted meanwhile.
 *
 * @throws {BerthError} `slurm-unavailable`, `slurm-refused`, `allocation-keys-failed`, `lock-timeout`
 */
export async function joinOrSubmitAllocation(
  input: AllocationInput,
  beforeSubmit: () => void,
): Promise<SlurmJob> {
  const { slurm, host, profile } = input;
  const name = jobName(profile, host.connection);
  const ofProfile = async (): Promise<JobRecord[]> =>
    (await recordedJobs(slurm)).filter((job) => job.name === name);
  const before = await ofProfile();
  const [open] = await openJobs(slurm, before);
  if (open !== undefined) return open;
  const lock = await takeLock(`${allocationsDir(host.user.home)}/${name}.lock`, {
    timeoutMs: submitMs,
    foreignStaleMs: submitMs,
  });
  try {
    const isNew = ({ key }: JobRecord): boolean => before.every((one) => one.key !== key);
    const [meanwhile] = await openJobs(slurm, (await ofProfile()).filter(isNew));
    if (meanwhile !== undefined) return meanwhile;
    await removeLeftovers(slurm);
    beforeSubmit();
    const record = await submitAllocation(input, name);
    return {
      ...record,
      state: 'PENDING',
      reason: 'None',
      node: '',
      end: undefined,
      start: undefined,
      timeLimit: '',
      preempted: '',
      exitCode: '',
    };
  } finally {
    await lock?.release();
  }
}
