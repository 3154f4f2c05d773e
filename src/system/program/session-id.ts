import { hostname } from 'node:os';

/**
 * The one name of a session in all that is written about it: lines in syslog, the pod's description, the job's comment, the
 * User-Agent of requests to a cluster. Of an SSH session it is the connection's; of a portal login, the hook's process.
 *
 * @param process `PID.STARTTIME` of sshd's monitor, or of the hook: unique on one host
 * @returns `PID.STARTTIME@HOST`
 */
export function sessionId(process: string, host = hostname()): string {
  return `${process}@${hostLabel(host)}`;
}

/** Tells the login in a job of Slurm of which session it is, for its lines in syslog: it passes BERTH_ENV_* on. */
export const sessionVariable = 'BERTH_ENV_BERTH_SESSION';

/** The parts of an ID; people may leave the host out. */
export interface SessionIdParts {
  readonly process: string;
  readonly host?: string | undefined;
}

/** @returns undefined if the text is neither `PID.STARTTIME` nor `PID.STARTTIME@HOST` */
export function parseSessionId(text: string): SessionIdParts | undefined {
  const [, process, host] = /^([1-9]\d{0,9}\.\d{1,20})(?:@([a-z0-9-]{1,40}))?$/.exec(text) ?? [];
  return process === undefined ? undefined : { process, host };
}

/** The User-Agent of requests to a cluster: its audit log then says for which session they were. */
export function userAgent(session: string | undefined): string {
  return session === undefined ? 'berth' : `berth (session ${session})`;
}

/** The first part of the hostname, as a valid label value. */
export function hostLabel(hostname: string): string {
  const [first = ''] = hostname.split('.');
  return dnsLabel(first, 40) || 'login';
}

/** A text as an RFC 1123 label of at most that length; empty if it has no letter and no digit. */
export function dnsLabel(text: string, longest: number): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, '-')
    .replace(/^-+/, '')
    .slice(0, longest)
    .replace(/-+$/, '');
}
