import { once } from 'node:events';
import { closeSync, openSync, readSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { BerthError, expectBerthError } from '../../../system/errors/berth-error.ts';
import type { ProgramCall } from '../../../system/program/program-call.ts';
import { passingRawBytes } from '../../../system/program/raw-bytes.ts';
import { startProgram } from '../../../system/run-program.ts';
import { randomDigits } from '../../../system/temporary-name.ts';
import { jobEndText } from './argv/job-end.ts';
import type { SlurmJob, SlurmPrograms } from './argv/slurm-job.ts';
import { clientsEnd, sshFailed } from './argv/ssh-to-job.ts';
import { askJobs } from './slurm-queue.ts';

interface JobOfSession {
  readonly slurm: SlurmPrograms;
  readonly job: SlurmJob;
  /** A directory of the user on this host. */
  readonly directory: string;
}

/**
 * Runs OpenSSH's client with this process's terminal or pipes. If it fails and not the command, slurmctld is asked
 * once how the job has ended.
 *
 * @param clientTo the client's call, which writes its own messages to the file `log`
 * @returns the command's exit code
 * @throws {BerthError} `slurm-job-ended`, `slurm-connection-lost`
 */
export async function connectToJob(
  clientTo: (log: string) => ProgramCall,
  inJob: JobOfSession,
): Promise<number> {
  const log = unnamedFile(inJob.directory);
  try {
    const exitCode = await runToEnd(clientTo(`/proc/${process.pid}/fd/${log}`));
    if (exitCode !== sshFailed) return exitCode;
    const said = clientsEnd(textOf(log));
    if (said.isOfCommand) return exitCode;
    const end = await whyItEnded(inJob, said);
    if (end.code === 'slurm-connection-lost' && said.isSilent) return exitCode;
    throw end;
  } finally {
    closeSync(log);
  }
}

async function whyItEnded(
  { slurm, job }: JobOfSession,
  { isUnanswered, words }: ReturnType<typeof clientsEnd>,
): Promise<BerthError> {
  const { id, node } = job;
  const found = await askJobs(slurm, [job]).then(
    ([now]) => jobEndText(now),
    (error: unknown) => {
      expectBerthError(error);
      return error;
    },
  );
  if (typeof found === 'string')
    return new BerthError('slurm-job-ended', `the Slurm job ${id} of your session ${found}`, {
      forUser: true,
    });
  const what = isUnanswered
    ? `the compute node ${node} does not answer`
    : `the connection to the Slurm job ${id} of your session failed`;
  const asked =
    found === undefined
      ? `Slurm says that ${isUnanswered ? `your job ${id} there` : 'it'} runs`
      : `Slurm does not say how it is: ${found.message}`;
  return new BerthError(
    'slurm-connection-lost',
    [`${what}, and ${asked}`, ...(words === '' ? [] : [`ssh: ${words}`])].join('; '),
    { forUser: true },
  );
}

/** @returns its exit code, or 128 and its signal as a shell */
async function runToEnd(call: ProgramCall): Promise<number> {
  const { file, args } = passingRawBytes(call);
  const child = startProgram(file, args.slice(1), {
    env: call.env,
    stdio: ['inherit', 'inherit', 'inherit'],
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

/** A file that goes with this process. @returns its descriptor */
function unnamedFile(directory: string): number {
  const path = `${directory}/ssh-${randomDigits(16)}`;
  const descriptor = openSync(path, 'wx+', 0o600);
  rmSync(path);
  return descriptor;
}

function textOf(descriptor: number): string {
  const bytes = Buffer.alloc(2048);
  return bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, bytes.length, 0));
}
