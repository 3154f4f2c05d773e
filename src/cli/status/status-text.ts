import { basename } from 'node:path';
import type { CheckResult } from '../../system/errors/check-result.ts';
import { countText } from '../../system/text/count-text.ts';
import { type ResultRow, type ResultStyle, resultText } from '../kit/check-report.ts';
import { durationText, localTime } from '../kit/text.ts';
import type {
  ClusterStatus,
  ConfigurationStatus,
  HostStatus,
  ImageStatus,
  ProfileSessions,
  TimerStatus,
} from './host-status.ts';

/** Of a line: that of most terminals. */
const columns = 80;

type Sections = readonly (readonly [title: string, rows: readonly ResultRow[]])[];

/** The status in sections, with the marks of doctor. @param now seconds since the epoch */
export function statusText(status: HostStatus, now: number, style: ResultStyle): string {
  const { host, version, roles, drained, timers, sessions, checks, incomplete } = status;
  const sections: Sections = [
    ['', drained === null ? [] : [drainRow(drained)]],
    ['configuration', status.configuration.flatMap(configurationRows)],
    ['clusters', status.clusters.map((one) => clusterRow(one, now))],
    ['timers', [...timers.filter(isShown).map((one) => timerRow(one, now)), ...offRow(timers)]],
    ['sessions', sessions.map(sessionsRow)],
    ['images', status.images.map(imageRow)],
    ['checks (berth doctor says what to do)', checks.map(checkRow)],
    ['incomplete', incomplete.map(({ part, ...why }) => ({ ...why, label: part }))],
  ];
  const labels = sections.flatMap(([, rows]) => rows.map(({ label }) => label.length));
  const width = Math.max(0, ...labels);
  const what = roles.length === 0 ? 'not set up' : roles.join(', ').replaceAll('-', ' ');
  const lines = sections.flatMap(([title, rows]) => {
    const texts = rows.map((row) => resultText(row, width, style, columns));
    return texts.length === 0 || title === '' ? texts : [title, ...texts];
  });
  return `${[`${host}: ${what}, Berth ${version}`, ...lines].join('\n')}\n`;
}

function drainRow({ since, by, reason }: NonNullable<HostStatus['drained']>): ResultRow {
  const why = [`since ${local(since)}`, ...(by === '' ? [] : [`by ${by}`])].join(' ');
  const message = `no new sessions ${why}${reason === '' ? '' : `: ${reason}`}`;
  return { status: 'warning', label: 'drained', message, next: 'berth node undrain' };
}

/** Without the next step: this is one screen. */
function checkRow({ id, status, cluster, message }: CheckResult): ResultRow {
  return { status, label: id, message: cluster === undefined ? message : `${cluster}: ${message}` };
}

/** How many errors of a file are shown. */
const mostErrors = 3;

function configurationRows(one: ConfigurationStatus): readonly ResultRow[] {
  const { status, file, errors, keptAt, changed } = one;
  const label = basename(file);
  if (errors.length === 0) {
    const since = keptAt === null ? '' : `; in use since ${local(keptAt)}`;
    const change = `; changed since the last login: ${changed.join(', ')}`;
    return [{ status, label, message: `valid${changed.length === 0 ? since : change}` }];
  }
  const rows = errors.slice(0, mostErrors).map(({ message, code, next }) => ({
    status,
    label,
    message: `${message} [${code}]`,
    next,
  }));
  const more = errors.length - rows.length;
  if (more <= 0) return rows;
  return [...rows, { status, label, message: `${countText(more, 'more error')}: berth doctor` }];
}

function clusterRow(one: ClusterStatus, now: number): ResultRow {
  const { status, cluster, milliseconds, error } = one;
  const token = tokenText(one, now);
  const answer =
    error === undefined ? `answers in ${milliseconds ?? 0} ms` : `${error.message} [${error.code}]`;
  const rotate = `berth token rotate --cluster ${cluster}`;
  const next = error?.next ?? (one.token === 'soon' ? rotate : undefined);
  return { status, label: cluster, message: `${answer}${token === '' ? '' : `; ${token}`}`, next };
}

function tokenText(one: ClusterStatus, now: number): string {
  const { token, tokenIssued, tokenExpires, account } = one;
  if (token === null) return account === null ? '' : 'a client certificate, no token';
  if (tokenExpires === null) return 'its token has no expiry time';
  const left = epoch(tokenExpires) - now;
  if (left <= 0) return `its token expired ${durationText(-left)} ago`;
  const age = tokenIssued === null ? '' : `${durationText(now - epoch(tokenIssued))} old, `;
  return `token ${age}expires in ${durationText(left)}`;
}

/** The others are in one row. */
function isShown({ active, status }: TimerStatus): boolean {
  return active || status !== 'skipped';
}

function timerRow(timer: TimerStatus, now: number): ResultRow {
  const { status, name, active, running, nextRun, result } = timer;
  const next = nextRun === null ? undefined : Math.max(0, epoch(nextRun) - now);
  const parts = [
    running ? 'runs now' : lastRunText(timer, now),
    ...(active ? [] : ['the timer is stopped']),
    ...(running || next === undefined ? [] : [`next in ${durationText(next)}`]),
  ];
  const hasFailed = status === 'failed' && result !== null;
  return {
    status,
    label: name.replace('berth-', ''),
    message: parts.join('; '),
    next: hasFailed
      ? `journalctl -u ${name} -n 20`
      : active || status === 'skipped'
        ? undefined
        : `systemctl start ${name}.timer`,
  };
}

function lastRunText({ lastRun, result, exitStatus }: TimerStatus, now: number): string {
  if (lastRun === null) return 'has not run since the boot';
  const ago = `${durationText(Math.max(0, now - epoch(lastRun)))} ago`;
  if (result === 'success') return `done ${ago}`;
  if (result === 'condition') return `skipped ${ago}, because a condition of the unit is not met`;
  const code = exitStatus === null ? '' : ` ${exitStatus}`;
  return `failed ${ago} (${result ?? ''}${code})`;
}

function offRow(timers: readonly TimerStatus[]): readonly ResultRow[] {
  const names = timers.filter((one) => !isShown(one)).map(({ name }) => name.replace('berth-', ''));
  if (names.length === 0) return [];
  return [{ status: 'skipped', label: 'off', message: names.join(', ') }];
}

function sessionsRow({ profile, backend, sessions, users }: ProfileSessions): ResultRow {
  const label = profile ?? (backend === 'host' ? '(host shell)' : '(unknown)');
  return { label, message: `${countText(sessions, 'session')} of ${countText(users, 'user')}` };
}

function imageRow({ status, image, state, profiles, damage }: ImageStatus): ResultRow {
  const what = damage[0] === undefined ? '' : `: ${damage[0]}`;
  const next = status === 'failed' ? 'berth images pull' : undefined;
  return { status, label: state, message: `${image} (${profiles.join(', ')})${what}`, next };
}

function epoch(time: string): number {
  return Date.parse(time) / 1000;
}

function local(time: string): string {
  return localTime(epoch(time));
}
