import { setTimeout as sleep } from 'node:timers/promises';
import { countText } from '../../../system/text/count-text.ts';
import { BerthError } from '../../../system/errors/berth-error.ts';
import { readUserFileSync } from '../../../system/user-file.ts';
import { allocationFiles } from './argv/allocation-script.ts';
import { jobEndText } from './argv/job-end.ts';
import { neverStarts, pendingText, waitingText } from './argv/pending-reasons.ts';
import { hasStarted, type SlurmJob, type SlurmPrograms } from './argv/slurm-job.ts';
import type { JobAddress } from './argv/ssh-to-job.ts';
import { reachableAddress } from './node-address.ts';
import { askJobs } from './slurm-queue.ts';

export interface WaitInput {
  readonly slurm: SlurmPrograms;
  /** Directory of the allocation, where the job writes its port. */
  readonly directory: string;
  /** How long at most. Milliseconds. */
  readonly waitMs: number;
  /** How long a running job may take until its gate listens. Milliseconds. */
  readonly startMs: number;
  /** Whether the job stays in the queue for another login if this one gives up. */
  readonly isKept: boolean;
  readonly show: (text: string) => void;
}

/** slurmctld is asked after the first time, then less and less often, up to the second. Milliseconds. */
const pauses = { first: 500, factor: 1.6, longest: 30_000 };

/** How often the file is looked for that a job writes when it has started. Milliseconds. */
const lookMs = 100;

/**
 * Waits until an allocation accepts connections. The job writes a file when it does, so that its start is noticed
 * without asking slurmctld.
 *
 * @throws {BerthError} `slurm-wait-timeout`, `slurm-never-starts`, `slurm-job-ended`, `slurm-job-silent`, `slurm-node-unreachable`, `slurm-unavailable`, and those of `readUserFileSync`
 */
export async function waitForJob(
  first: SlurmJob,
  input: WaitInput,
): Promise<{ readonly job: SlurmJob; readonly address: JobAddress }> {
  const { slurm, directory, show } = input;
  const began = performance.now();
  let job = first;
  let pause = pauses.first;
  let asked = began;
  let hadPort = false as boolean;
  let runningSince = hasStarted(job) ? began : undefined;
  for (;;) {
    const port = portIn(directory);
    const isFirstPort = port !== undefined && !hadPort;
    hadPort = port !== undefined;
    if ((isFirstPort && job.node === '') || performance.now() - asked > pause) {
      const [found] = await askJobs(slurm, [first]);
      const end = jobEndText(found);
      if (found === undefined || end !== undefined) throw ended(first, end);
      job = found;
      asked = performance.now();
      pause = Math.min(pause * pauses.factor, pauses.longest);
      if (hasStarted(job)) runningSince ??= asked;
      if (neverStarts(job))
        throw new BerthError(
          'slurm-never-starts',
          `your session cannot start: ${pendingText(job)}; Slurm job ${job.id} was cancelled`,
          { forUser: true },
        );
      show(waitingText(job));
    }
    if (port !== undefined && job.node !== '') {
      const node = await reachableAddress(slurm, directory, job.node);
      return { job, address: { node, port, directory } };
    }
    const now = performance.now();
    if (runningSince === undefined && now - began > input.waitMs) throw tooLong(job, input);
    if (runningSince !== undefined && now - runningSince > input.startMs)
      throw new BerthError(
        'slurm-job-silent',
        `Slurm job ${job.id} runs${job.node && ` on ${job.node}`}, but the connection service that Berth starts in it does not answer: it failed to start, or that node does not have the same home as this one`,
        { forUser: true },
      );
    await sleep(lookMs);
  }
}

/** It is the user's file, and what they put there must not hold a login. @throws {BerthError} the errors of `readUserFileSync` */
function portIn(directory: string): number | undefined {
  const demands = { uid: process.getuid?.() ?? -1, maximumBytes: 16 };
  const port = Number(readUserFileSync(`${directory}/${allocationFiles.port}`, demands) ?? NaN);
  return Number.isInteger(port) && port >= 1024 && port < 65_536 ? port : undefined;
}

function tooLong(job: SlurmJob, { waitMs, isKept }: WaitInput): BerthError {
  const wait =
    waitMs < 60_000
      ? countText(waitMs / 1000, 'second')
      : countText(Math.ceil(waitMs / 60_000), 'minute');
  return new BerthError(
    'slurm-wait-timeout',
    `your session did not start within ${wait}: ${waitingText(job)}`,
    {
      forUser: true,
      hint: isKept ? undefined : 'Connect again later, for a new job: this one was cancelled.',
    },
  );
}

function ended({ id }: SlurmJob, how = 'has ended'): BerthError {
  return new BerthError(
    'slurm-job-ended',
    `the Slurm job ${id} of your session ${how} before it could be used`,
    {
      forUser: true,
    },
  );
}
