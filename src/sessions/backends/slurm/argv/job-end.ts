import { isOpen, type SlurmJob } from './slurm-job.ts';

/**
 * How a job has ended, as the end of "the Slurm job 7 of your session …". While its processes end, Slurm shows
 * `COMPLETING` instead of the state that the job gets.
 *
 * @param job undefined if slurmctld has forgotten it
 * @returns undefined if it is open
 */
export function jobEndText(job: SlurmJob | undefined): string | undefined {
  if (job === undefined) return 'has ended';
  const { state, reason, preempted, exitCode, timeLimit } = job;
  if (isOpen(state)) return undefined;
  if (state === 'TIMEOUT' || reason === 'TimeLimit')
    return `has reached its time limit of ${timeLimit}`;
  if (state.endsWith('FAIL') || reason.startsWith('Node'))
    return 'has ended because its node failed';
  if (state === 'OUT_OF_MEMORY' || reason === 'OutOfMemory') return 'has used up its memory';
  if (state === 'PREEMPTED' || /^\d/.test(preempted))
    return 'was preempted: Slurm gives its node to a job that goes first';
  const isWithoutReason = state === 'COMPLETING' && reason === 'None' && exitCode === '0';
  return state === 'CANCELLED' || isWithoutReason ? 'was cancelled' : 'has ended';
}
