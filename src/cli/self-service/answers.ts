import type { OwnSessions } from '../../sessions/backends/own-session.ts';
import { profileChoices } from '../../sessions/backends/slurm/argv/choices.ts';
import { sessionTimeLimit } from '../../sessions/backends/slurm/argv/sbatch-options.ts';
import type { BerthError } from '../../system/errors/berth-error.ts';
import type { SessionEnd } from '../../sessions/request/shown-session-end.ts';
import type { OwnProfile } from '../../login/self-service/own-profiles.ts';
import { fullName } from '../../login/self-service/own-sessions.ts';
import type { OwnStatus } from '../../login/self-service/own-status.ts';
import { durationText, localTime, shortTime, sizeText, textTable } from '../kit/text.ts';

/** What a command prints. */
export interface Answer {
  /** Empty if there is nothing to list. */
  readonly text: string;
  /** What is said then, on standard error. */
  readonly nothing: string;
  /** Why a part is missing. */
  readonly failed: readonly BerthError[];
}

/** @param now milliseconds since the epoch */
export function sessionsAnswer({ sessions, failed }: OwnSessions, now: number): Answer {
  return {
    text: table(
      ['NAME', 'PROFILE', 'BACKEND', 'STATE', 'AGE', 'CONNECTIONS', 'ENDS'],
      sessions.map(({ name, profile, backend, cluster, job, since, ...session }) => [
        name,
        profile ?? '-',
        [backend, cluster ?? job?.id ?? ''].join(' ').trim(),
        session.state,
        shortTime(since === undefined ? undefined : Math.max(0, Math.floor((now - since) / 1000))),
        String(session.connections ?? '-'),
        endText(session.ends),
      ]),
      [4, 5],
    ),
    nothing: 'no SSH session of yours has a container, pod or job here\n',
    failed,
  };
}

export function endedAnswer({ sessions, failed }: OwnSessions): Answer {
  return {
    text: sessions.map((one) => `ended ${fullName(one)}\n`).join(''),
    nothing: 'you have nothing to end here\n',
    failed,
  };
}

/** Milliseconds. */
function timeLimit(profile: OwnProfile['profile']): number | undefined {
  return profile.backend === 'slurm' ? sessionTimeLimit(profile) : profile.timeouts.hardMs;
}

export function profilesAnswer(profiles: readonly OwnProfile[]): Answer {
  const rows = profiles.map(({ profile, isDefault }) => {
    const { name, backend, image, limits } = profile;
    const time = timeLimit(profile);
    return [
      name,
      isDefault ? 'yes' : 'no',
      backend,
      image,
      String(limits.cpus ?? '-'),
      limits.memory === undefined ? '-' : sizeText(limits.memory),
      time === undefined ? '-' : durationText(time / 1000),
      profileChoices(profile).map(choiceText).join(', ') || '-',
    ];
  });
  const [choice] = profiles.flatMap(({ profile }) => profileChoices(profile));
  const more =
    choice === undefined
      ? ''
      : `More, for a job: ssh -o SetEnv='BERTH_PROFILE=NAME ${choice.variable}=${choice.max ?? choice.values?.[0] ?? 'VALUE'}' HOST\n`;
  const headings = ['NAME', 'DEFAULT', 'BACKEND', 'IMAGE', 'CPUS', 'MEMORY', 'TIME', 'CHOICES'];
  return {
    text:
      rows.length === 0
        ? ''
        : `${textTable(headings, rows, [4, 5])}\nTo choose one: ssh -o SetEnv=BERTH_PROFILE=NAME HOST\n${more}`,
    nothing: 'there is no profile for you on this port\n',
    failed: [],
  };
}

export function statusAnswer({ jobs, quotas, credentials, failed }: OwnStatus): Answer {
  const tables = [
    table(
      ['JOB', 'PROFILE', 'STATE', 'NODE', 'LEFT'],
      jobs.map(({ job, profile, state }) => [
        job?.id ?? '-',
        profile ?? '-',
        job?.waits ?? state,
        (job?.node ?? '') || '-',
        job?.secondsLeft === undefined ? '-' : durationText(job.secondsLeft),
      ]),
    ),
    table(
      ['CLUSTER', 'NAMESPACE', 'QUOTA', 'USED', 'LIMIT'],
      quotas.map(({ cluster, namespace, resource, used, limit }) => [
        cluster,
        namespace,
        resource,
        used,
        limit,
      ]),
      [3, 4],
    ),
    table(
      ['KUBECTL-ON', 'CREDENTIAL-EXPIRES', 'RENEWED'],
      credentials.map(({ cluster, expiry, renews }) => [
        cluster,
        localTime(expiry),
        renews ? 'yes' : 'no, log in to the portal',
      ]),
    ),
  ];
  return {
    text: tables.filter((text) => text !== '').join('\n'),
    nothing:
      'no SSH session of yours has a job here, and you have no quotas or credentials for kubectl\n',
    failed,
  };
}

/** `5 min after your last connection, at the latest at 2026-01-02 03:04` */
function endText({ after, graceMs = 0, waitsForProcesses, at }: SessionEnd): string {
  const first = {
    'its-connection': 'with its connection',
    'last-connection': `${graceMs > 0 ? `${durationText(graceMs / 1000)} after` : 'with'} your last connection${waitsForProcesses === true ? ' and its processes' : ''}`,
    none: undefined,
  }[after ?? 'none'];
  const last = at === undefined ? undefined : `at ${localTime(Math.floor(at / 1000))}`;
  if (first === undefined) return last ?? '-';
  return last === undefined ? first : `${first}, at the latest ${last}`;
}

function choiceText({ variable, max, values }: ReturnType<typeof profileChoices>[number]): string {
  if (max !== undefined) return `${variable} up to ${max}`;
  return `${variable} ${values?.join(' or ') ?? 'as Slurm allows'}`;
}

/** Empty without rows. */
function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string {
  return rows.length === 0 ? '' : textTable(headings, rows, right);
}
