import type { Profile, ProfileSlurm } from '../../../../config/schema/profile/profile.ts';
import type { ProgramCall } from '../../../../system/program/program-call.ts';

/** A job that a login has submitted. */
export interface JobRecord {
  /** The number that sbatch(1) gave. */
  readonly id: string;
  /** When, by the login node's clock. Seconds since the epoch. */
  readonly submitted: number;
  /** See `jobName`. */
  readonly name: string;
  /** Name of the directory with its keys. */
  readonly key: string;
}

/** A job that holds an allocation, as squeue(1) shows it. */
export interface SlurmJob extends JobRecord {
  /** See `isOpen`. */
  readonly state: string;
  /** Why it is pending, such as `Resources` or `QOSMaxJobsPerUserLimit`. */
  readonly reason: string;
  /** The name of the node of its first step; '' while it has none. */
  readonly node: string;
  /** When its time limit ends it, or undefined without a limit. Seconds since the epoch. */
  readonly end: number | undefined;
  /** When it started, or when Slurm expects it to start. Seconds since the epoch. */
  readonly start: number | undefined;
  /** As squeue prints it, such as `1-12:30:00`. */
  readonly timeLimit: string;
  /** When it was preempted; seconds since the epoch, or a word. */
  readonly preempted: string;
  readonly exitCode: string;
}

const mark = 'berth-session:';

/**
 * Says in the queue and in accounting what a job is. Nothing reads it: users and the site's job_submit plugin may set another.
 *
 * @param session ID of the session that submits the job
 */
export function jobComment(key: string, session: string | undefined): string {
  return `${mark}${key}${session === undefined ? '' : `:${session}`}`;
}

/** The name of the job of a profile's sessions. With `lifetime: connection`, each connection has a job of its own. */
export function jobName({ name, lifetime }: Profile, connection: string | undefined): string {
  const shared = lifetime.kind !== 'connection' || connection === undefined;
  return shared ? `berth-${name}` : `berth-${name}-${connection}`;
}

/** Asks for a job of whomever in one request; squeue would ask for all partitions, too. */
export function jobCall(slurm: SlurmPrograms, { id }: JobRecord): ProgramCall {
  return slurmCall(slurm, 'scontrol', ['--local', 'show', 'job', id]);
}

/** @returns undefined if scontrol's output does not have the job, or has another one with its number */
export function parseJob(text: string, record: JobRecord, uid: number): SlurmJob | undefined {
  // What follows is free text, of the user and of the site, and before it only the name of the job.
  const [known = ''] = text.split('\n   Command=');
  const field = (name: string): string =>
    new RegExp(`^ +(?:[^\\s=]+=\\S* )*${name}=(\\S*)`, 'm').exec(known)?.[1] ?? '';
  const state = field('JobState');
  const isOwn = new RegExp(`^ +UserId=.*\\(${uid}\\) GroupId=`, 'm').test(known);
  if (state === '' || !isOwn || !isOf(record, field('SubmitTime'))) return undefined;
  return {
    ...record,
    state,
    reason: field('Reason'),
    node: field('BatchHost'),
    end: timeIn(field('EndTime')),
    start: timeIn(field('StartTime')),
    timeLimit: field('TimeLimit').replace(/^(?:00:)?0?/, ''),
    preempted: field('PreemptTime'),
    exitCode: field('ExitCode').replace(/:0$/, ''),
  };
}

/** What `parseQueue` reads, in the words of squeue's --Format. */
const columns = [
  'JobID',
  'SubmitTime',
  'State',
  'Reason',
  'BatchHost',
  'EndTime',
  'StartTime',
  'TimeLimit',
  'PreemptTime',
  'exit_code',
];

/** Asks for these jobs of the user, also for those that have ended: slurmctld knows them for some minutes (MinJobAge). */
export function queueCall(slurm: SlurmPrograms, jobs: readonly JobRecord[]): ProgramCall {
  const format = columns.map((column) => `${column}:|`).join();
  return slurmCall(slurm, 'squeue', [
    '--me',
    '--local',
    '--noheader',
    '--noconvert',
    '-t',
    'all',
    `--jobs=${jobs.map(({ id }) => id).join()}`,
    `--Format=${format}`,
  ]);
}

/**
 * The clocks of a login node and of slurmctld differ by no more, or munge lets nobody in. A number that was given again, by
 * a slurmctld that began anew, is another job. Seconds.
 */
const clocksDiffer = 600;

function isOf({ submitted }: JobRecord, submitTime: string | undefined): boolean {
  return Math.abs((timeIn(submitTime) ?? submitted) - submitted) <= clocksDiffer;
}

/** The recorded jobs that squeue's output has, oldest first. */
export function parseQueue(text: string, records: readonly JobRecord[]): SlurmJob[] {
  return text
    .split('\n')
    .flatMap((line) => jobOf(line, records) ?? [])
    .sort((one, other) => Number(one.id) - Number(other.id));
}

function jobOf(line: string, records: readonly JobRecord[]): SlurmJob | undefined {
  const [id, submit, state = '', reason = '', node = '', end, start, ...more] = line
    .split('|')
    .map((field) => field.trim());
  const [timeLimit = '', preempted = '', exitCode = ''] = more;
  const record = records.find((one) => one.id === id);
  if (record === undefined || !isOf(record, submit)) return undefined;
  return {
    ...record,
    state,
    reason,
    node: ['n/a', 'N/A', '(null)'].includes(node) ? '' : node,
    end: timeIn(end),
    start: timeIn(start),
    timeLimit,
    preempted,
    exitCode,
  };
}

/** Slurm prints `N/A` or `NONE` for a time that it does not know. */
function timeIn(text: string | undefined): number | undefined {
  const seconds = Number(text);
  return Number.isInteger(seconds) && seconds > 0 ? seconds : undefined;
}

/** States of jobs that do not run any more (`job_state_string` of Slurm 20.02 to 26.05), and of one that slurmctld has forgotten. */
const ended = [
  '',
  'COMPLETING',
  'COMPLETED',
  'CANCELLED',
  'FAILED',
  'TIMEOUT',
  'NODE_FAIL',
  'PREEMPTED',
  'BOOT_FAIL',
  'DEADLINE',
  'OUT_OF_MEMORY',
  'STAGE_OUT',
  'REVOKED',
];

/** States of jobs that run, or did and go on. */
const running = ['RUNNING', 'SUSPENDED', 'STOPPED', 'RESIZING', 'SIGNALING'];

/** Whether a job runs, or may run without being submitted again. A state of another release counts as such. */
export function isOpen(state: string): boolean {
  return !ended.includes(state);
}

export function hasStarted({ state }: SlurmJob): boolean {
  return running.includes(state);
}

/** Submits a job script on standard input. It prints the job's number. */
export function submitCall(slurm: SlurmPrograms): ProgramCall {
  return slurmCall(slurm, 'sbatch', ['--parsable']);
}

/** Asks whether Slurm would accept a job script on standard input. Nothing is submitted. */
export function testCall(slurm: SlurmPrograms): ProgramCall {
  return slurmCall(slurm, 'sbatch', ['--test-only']);
}

/** With `--me`, scancel would ask for everybody's jobs first. */
export function cancelCall(slurm: SlurmPrograms, id: string): ProgramCall {
  return slurmCall(slurm, 'scancel', ['--quiet', id]);
}

/** Asks for a node, whose NodeAddr need not be its name. */
export function nodeCall(slurm: SlurmPrograms, node: string): ProgramCall {
  return slurmCall(slurm, 'scontrol', ['show', 'node', node]);
}

/** Where Slurm is on this host, and whose HOME a job gets. */
export interface SlurmPrograms {
  readonly slurm: ProfileSlurm | undefined;
  readonly home: string;
}

/** Nothing of the client: Slurm's programs read options and commands from variables. */
function slurmCall(
  { slurm, home }: SlurmPrograms,
  program: 'sbatch' | 'scancel' | 'scontrol' | 'squeue',
  args: readonly string[],
): ProgramCall {
  const file = `/usr/bin/${program}`;
  return {
    file,
    args: [program, ...args],
    env: {
      HOME: home,
      PATH: '/usr/local/bin:/usr/bin:/bin',
      LC_ALL: 'C.UTF-8',
      // strftime(3): seconds since the epoch.
      SLURM_TIME_FORMAT: '%s',
      ...(slurm && { SLURM_CONF: `${slurm.config}/slurm.conf` }),
    },
  };
}
