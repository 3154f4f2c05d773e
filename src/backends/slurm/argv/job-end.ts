import type { ProgramCall } from '../../../program-call.ts';
import { isOpen, slurmCall, type SlurmPrograms } from './slurm-job.ts';

/** Fields of squeue(1) that say how a job has ended. None of them contains a space. */
const fields = ['State', 'Reason', 'PreemptTime', 'exit_code', 'TimeLimit'];

/** Asks for the end of a job, which slurmctld keeps for some minutes (MinJobAge). */
export function jobEndCall(slurm: SlurmPrograms, id: string): ProgramCall {
  const format = fields.map((field) => `${field}:64`).join(',');
  return slurmCall(slurm, 'squeue', [
    ...['--me', '--states=all', `--jobs=${id}`, '--noheader', `--Format=${format}`],
  ]);
}

/**
 * How a job has ended, as the end of "the Slurm job 7 of your session …". While its processes end, Slurm shows
 * `COMPLETING` instead of the state that the job gets.
 *
 * @param text output of `jobEndCall`; empty if slurmctld has forgotten the job
 * @returns undefined if it runs
 */
export function jobEndText(text: string): string | undefined {
  const [state = '', reason = '', preempted = '', exitCode = '', limit = ''] = text
    .trim()
    .split(/\s+/);
  if (isOpen(state)) return undefined;
  if (state === 'TIMEOUT' || reason === 'TimeLimit')
    return `has reached its time limit of ${limit}`;
  if (state.endsWith('FAIL') || reason.startsWith('Node'))
    return 'has ended because its node failed';
  if (state === 'OUT_OF_MEMORY' || reason === 'OutOfMemory') return 'has used up its memory';
  if (state === 'PREEMPTED' || /^\d/.test(preempted))
    return 'was preempted: Slurm gives its node to a job that goes first';
  const isWithoutReason = state === 'COMPLETING' && reason === 'None' && exitCode === '0';
  return state === 'CANCELLED' || isWithoutReason ? 'was cancelled' : 'has ended';
}
