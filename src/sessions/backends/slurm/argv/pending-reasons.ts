import type { SlurmJob } from './slurm-job.ts';

/** Why jobs wait (squeue(1), "JOB REASON CODES"), for people. Others are shown as Slurm says them. */
const words: Readonly<Record<string, string>> = {
  None: 'Slurm has not looked at it yet',
  Priority: 'jobs with a higher priority come first',
  Resources: 'all suitable nodes are in use',
  ReqNodeNotAvail: 'a node that it needs is down or reserved',
  PartitionDown: 'the partition is down',
  PartitionInactive: 'the partition is not in use now',
  PartitionTimeLimit: 'it asks for more time than the partition allows',
  PartitionNodeLimit: 'nodes of the partition are down or drained, or it has too few',
  Reservation: 'its reservation has not begun',
  Licenses: 'all licenses are in use',
  BadConstraints: 'no node has what it asks for',
  AccountNotAllowed: 'its account may not use the partition',
  QOSNotAllowed: 'its QOS may not use the partition',
  BeginTime: 'its start time has not come',
  JobHeldAdmin: 'an admin holds it',
  InvalidAccount: 'its account is not valid',
  InvalidQOS: 'its QOS is not valid',
};

/** Reasons that do not go away by waiting, or not soon. */
const never = [
  'PartitionTimeLimit',
  'InvalidAccount',
  'InvalidQOS',
  'BadConstraints',
  'AccountNotAllowed',
  'QOSNotAllowed',
  'DependencyNeverSatisfied',
  'PartitionDown',
];

/** Whether a pending job cannot start unless somebody changes something. */
export function neverStarts({ state, reason }: SlurmJob): boolean {
  const [first = ''] = reason.split(',');
  // The limit on one job, not on all of them together.
  const isOwnLimit = /^(?:QOS|Assoc)Max\w+Per(?:Job|Node)\w*$/.test(first);
  return state === 'PENDING' && (never.includes(first) || isOwnLimit);
}

/** What a session waits for, as the end of "your session: …". */
export function waitingText({ id, state, reason, start }: SlurmJob): string {
  if (state === 'RUNNING') return `Slurm job ${id} is starting`;
  if (state === 'CONFIGURING') return `the node of Slurm job ${id} is being made ready`;
  if (state !== 'PENDING') return `Slurm job ${id} is ${state.toLowerCase()}`;
  const expected = start === undefined ? '' : `, expected to start ${timeText(start)}`;
  return `Slurm job ${id} waits: ${pendingText({ id, reason })}${expected}`;
}

/** Why a job is pending. */
export function pendingText({ id, reason }: Pick<SlurmJob, 'id' | 'reason'>): string {
  const [first = ''] = reason.split(',');
  if (first === 'JobHeldUser') return `it is held: release it with \`scontrol release ${id}\``;
  return words[first] ?? limitText(reason);
}

/** Limits of QOS and association have names such as `QOSMaxJobsPerUserLimit` and `AssocGrpCpuLimit`. */
function limitText(reason: string): string {
  if (/^(?:QOS|Assoc|Account)\w*Limit$/.test(reason))
    return `a limit of your account or QOS is reached (${reason})`;
  return reason;
}

/** @param seconds since the epoch */
function timeText(seconds: number): string {
  // The Swedish format is that of ISO 8601.
  const date = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short' });
  return `at ${date.format(seconds * 1000)}`;
}
