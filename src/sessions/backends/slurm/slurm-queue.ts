import { BerthError } from '../../../system/errors/berth-error.ts';
import { escapeControl } from '../../../log.ts';
import type { ProgramCall } from '../../../system/program/program-call.ts';
import { runProgram } from '../../../system/run-program.ts';
import { refusalText } from './argv/refusals.ts';
import {
  cancelCall,
  isOpen,
  jobCall,
  type JobRecord,
  nodeCall,
  parseJob,
  parseQueue,
  queueCall,
  type SlurmJob,
  type SlurmPrograms,
  submitCall,
} from './argv/slurm-job.ts';

/** How long slurmctld may take to answer. Slurm's own MessageTimeout is 10 s by default, and its programs try again. */
const answerMs = 60_000;

/** What slurmctld knows of these jobs, oldest first. @throws {BerthError} `slurm-unavailable` */
export async function askJobs(
  slurm: SlurmPrograms,
  records: readonly JobRecord[],
): Promise<SlurmJob[]> {
  const [record, ...others] = records;
  if (record === undefined) return [];
  if (others.length === 0) {
    const { stdout, failure } = await run(jobCall(slurm, record));
    if (failure?.includes('Invalid job id')) return [];
    if (failure !== undefined && isNoAnswer(failure)) throw unavailable('scontrol', failure);
    const job = parseJob(stdout, record, process.getuid?.() ?? -1);
    // Else squeue has the last word: scontrol may not be there for users.
    if (job !== undefined) return [job];
  }
  const { stdout, failure } = await run(queueCall(slurm, records));
  if (failure !== undefined && !failure.includes('Invalid job id'))
    throw unavailable('squeue', failure);
  return parseQueue(stdout, records);
}

/** Those that run or may run. @throws {BerthError} `slurm-unavailable` */
export async function openJobs(
  slurm: SlurmPrograms,
  records: readonly JobRecord[],
): Promise<SlurmJob[]> {
  return (await askJobs(slurm, records)).filter(({ state }) => isOpen(state));
}

/** The address of a node in slurm.conf, or its name. @throws {BerthError} `slurm-unavailable` */
export async function askNodeAddress(
  slurm: SlurmPrograms,
  node: string,
): Promise<string | undefined> {
  const { stdout, failure } = await run(nodeCall(slurm, node));
  if (failure !== undefined) throw unavailable('scontrol', failure);
  return /\bNodeAddr=(\S+)/.exec(stdout)?.[1];
}

/** Submits a script. @returns the job's number @throws {BerthError} `slurm-unavailable`, `slurm-refused` with the words of sbatch(1) */
export async function submit(slurm: SlurmPrograms, script: string): Promise<string> {
  const { stdout, failure } = await run(submitCall(slurm), script);
  // NUMBER or NUMBER;CLUSTER
  const [, id] = /^(\d+)(?:;|$)/m.exec(stdout) ?? [];
  if (failure === undefined && id !== undefined) return id;
  if (failure !== undefined && isNoAnswer(failure)) throw unavailable('sbatch', failure);
  const said = failure ?? `it printed ${JSON.stringify(stdout.slice(0, 200))}`;
  throw new BerthError(
    'slurm-refused',
    `Slurm does not accept the job of your session: ${refusalText(said)}`,
    {
      forUser: true,
    },
  );
}

/** @throws {BerthError} `slurm-unavailable` */
export async function cancel(slurm: SlurmPrograms, id: string): Promise<void> {
  const { failure } = await run(cancelCall(slurm, id));
  if (failure !== undefined) throw unavailable('scancel', failure);
}

async function run(
  { file, args, env }: ProgramCall,
  input = '',
): Promise<{ readonly stdout: string; readonly failure?: string }> {
  // What has begun is finished: ctrl-C and the end of a connection reach programs of the login, too.
  const ignoring = ['-c', 'trap "" HUP INT TERM; exec "$@"', 'sh', file, ...args.slice(1)];
  const { error, stdout, stderr } = await runProgram('/bin/sh', ignoring, {
    env,
    input,
    timeoutMs: answerMs,
    killSignal: 'SIGKILL',
    maxBuffer: 1024 * 1024,
  });
  if (error === undefined) return { stdout };
  const said = wordsOfSlurm(stderr);
  return { stdout, failure: said === '' ? error.message : said };
}

/** What a program of Slurm prints, in one line and without its name. */
export function wordsOfSlurm(stderr: string): string {
  const lines = stderr.trim().replaceAll(/^(?:sbatch|squeue|scancel|scontrol): (?:error: )?/gm, '');
  return escapeControl(lines.replaceAll('\n', '; '));
}

/** Whether slurmctld, or munge before it, has not answered. */
export function isNoAnswer(said: string): boolean {
  return /unable to contact slurm controller|munge/i.test(said);
}

function unavailable(program: string, failure: string): BerthError {
  return new BerthError('slurm-unavailable', `${program} failed: ${failure}`);
}
