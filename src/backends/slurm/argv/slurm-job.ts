import type { Profile, ProfileSlurm } from '../../../config/schema/profile/profile.ts';
import type { ProgramCall } from '../../../program-call.ts';

/** A job that holds an allocation, as squeue(1) shows it. */
export interface SlurmJob {
  readonly id: string;
  readonly name: string;
  /** `PENDING`, `CONFIGURING`, `RUNNING`, `SUSPENDED`, … */
  readonly state: string;
  /** Why it is pending, such as `Resources` or `QOSMaxJobsPerUserLimit`. */
  readonly reason: string;
  /** The node of its first step. */
  readonly node: string;
  /** When its time limit ends it, or undefined without a limit. Seconds since the epoch. */
  readonly end: number | undefined;
  /** When it started, or when Slurm expects it to start. Seconds since the epoch. */
  readonly start: number | undefined;
  /** Name of the directory with its keys. */
  readonly key: string;
}

/** Marks the comment of a job as one of Berth's sessions. The user can set it, too: it says where to look, and no more. */
const mark = 'berth-session:';

/** @param session ID of the session that submits the job */
export function jobComment(key: string, session: string | undefined): string {
  return `${mark}${key}${session === undefined ? '' : `:${session}`}`;
}

/** The name of the job of a profile's sessions. With `lifetime: connection`, each connection has a job of its own. */
export function jobName({ name, lifetime }: Profile, connection: string | undefined): string {
  const shared = lifetime.kind !== 'connection' || connection === undefined;
  return shared ? `berth-${name}` : `berth-${name}-${connection}`;
}

/** Columns of squeue(1): what `parseQueue` reads. The comment is the last, since it may contain anything. */
const columns = '%i|%j|%T|%r|%B|%e|%S|%k';

/** Asks for the user's jobs on this cluster: slurmctld sends no others. */
export function queueCall(slurm: SlurmPrograms): ProgramCall {
  const args = ['--me', '--local', '--noheader', '--noconvert', `--format=${columns}`];
  return slurmCall(slurm, 'squeue', args);
}

/** The jobs of sessions in squeue's output that are not about to end, oldest first. */
export function parseQueue(text: string): SlurmJob[] {
  return text
    .split('\n')
    .flatMap((line) => jobOf(line.trim()) ?? [])
    .sort((one, other) => Number(one.id) - Number(other.id));
}

function jobOf(line: string): SlurmJob | undefined {
  const [id = '', name = '', state = '', reason = '', node = '', end, start, ...rest] =
    line.split('|');
  const comment = rest.join('|');
  const [key = ''] = comment.slice(mark.length).split(':');
  const isOurs = comment.startsWith(mark) && /^[0-9a-f]{16}$/.test(key);
  if (!isOurs || !/^[0-9]+$/.test(id) || !isOpen(state)) return undefined;
  return {
    ...{ id, name, state, reason, key },
    node: /^[A-Za-z0-9][A-Za-z0-9.-]*$/.test(node) ? node : '',
    ...{ end: timeIn(end), start: timeIn(start) },
  };
}

/** Slurm prints `N/A` or `NONE` for a time that it does not know. */
function timeIn(text: string | undefined): number | undefined {
  const seconds = Number(text);
  return Number.isInteger(seconds) && seconds > 0 ? seconds : undefined;
}

/** Whether a job runs, or may run without being submitted again. */
export function isOpen(state: string): boolean {
  return ['PENDING', 'CONFIGURING', 'RUNNING', 'SUSPENDED', 'RESIZING', 'STOPPED'].includes(state);
}

/** Submits a job script on standard input. It prints the job's number. */
export function submitCall(slurm: SlurmPrograms): ProgramCall {
  return slurmCall(slurm, 'sbatch', ['--parsable']);
}

/** Asks whether Slurm would accept a job script on standard input. Nothing is submitted. */
export function testCall(slurm: SlurmPrograms): ProgramCall {
  return slurmCall(slurm, 'sbatch', ['--test-only']);
}

export function cancelCall(slurm: SlurmPrograms, id: string): ProgramCall {
  return slurmCall(slurm, 'scancel', ['--me', '--quiet', id]);
}

/** Where Slurm is on this host, and whose HOME a job gets. */
export interface SlurmPrograms {
  readonly slurm: ProfileSlurm | undefined;
  readonly home: string;
}

/** Nothing of the client: Slurm's programs read options and commands from variables. */
export function slurmCall(
  { slurm, home }: SlurmPrograms,
  program: 'sbatch' | 'scancel' | 'squeue',
  args: readonly string[],
): ProgramCall {
  const file = `/usr/bin/${program}`;
  return {
    file,
    args: [program, ...args],
    env: {
      ...{ HOME: home, PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C.UTF-8' },
      // strftime(3): seconds since the epoch.
      ...(program === 'squeue' ? { SLURM_TIME_FORMAT: '%s' } : {}),
      ...(slurm === undefined ? {} : { SLURM_CONF: `${slurm.config}/slurm.conf` }),
    },
  };
}
