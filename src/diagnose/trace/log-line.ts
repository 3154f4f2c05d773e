import { parsedJson } from '../../system/text/parsed-json.ts';
import { mappingOrEmpty } from '../../system/text/mapping.ts';
/** A line of a log, without what its format adds. */
export interface LogLine {
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** The host that wrote it; empty in the audit log of an API server. */
  readonly host: string;
  /** The program: `berth`, `sshd`; `audit` for a request to an API server. */
  readonly source: string;
  readonly pid?: number;
  /** Who wrote it, unless it was root or the log does not say. */
  readonly uid?: number;
  readonly text: string;
}

/**
 * Reads a line of syslog (RFC 3339 or the traditional time, as rsyslog writes files), of `journalctl -o json`, or of an API
 * server's audit log.
 *
 * @param now Milliseconds since the epoch: a traditional time has no year, and is the last such time
 * @returns undefined for any other line
 */
export function parseLogLine(line: string, now: number): LogLine | undefined {
  return line.startsWith('{') ? jsonLine(line) : syslogLine(line, now);
}

/** `2026-01-02T03:04:05.678+01:00 HOST TAG[PID]: TEXT`, or `Jan  2 03:04:05 HOST …` */
const syslogForm =
  /^(?:<\d{1,3}>)?(\d{4}-\d\d-\d\dT\S{8,30}|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (\S+) ([^\s:[\]]{1,64})(?:\[(\d{1,10})\])?: ?(.*)$/s;

function syslogLine(line: string, now: number): LogLine | undefined {
  const [, when, host = '', source = '', pid, text = ''] = syslogForm.exec(line) ?? [];
  if (when === undefined) return undefined;
  const time = /^\d/.test(when) ? Date.parse(when) : traditionalTime(when, now);
  if (Number.isNaN(time)) return undefined;
  return { time, host, source, ...(pid !== undefined && { pid: Number(pid) }), text };
}

/** A day, for clocks that differ. Milliseconds. */
const soon = 86_400_000;

function traditionalTime(when: string, now: number): number {
  const year = new Date(now).getFullYear();
  const time = Date.parse(`${when} ${year}`);
  return time > now + soon ? Date.parse(`${when} ${year - 1}`) : time;
}

function jsonLine(line: string): LogLine | undefined {
  const value = mappingOrEmpty(parsedJson(line));
  return value.kind === 'Event' ? auditLine(value) : journalLine(value);
}

function journalLine(entry: Readonly<Record<string, unknown>>): LogLine | undefined {
  const text = textOf(entry.MESSAGE);
  const time = Number(entry.__REALTIME_TIMESTAMP) / 1000;
  if (text === undefined || Number.isNaN(time)) return undefined;
  const pid = Number(entry.SYSLOG_PID ?? entry._PID ?? Number.NaN);
  const uid = Number(entry._UID ?? 0);
  return {
    time,
    host: textOf(entry._HOSTNAME) ?? '',
    source: textOf(entry.SYSLOG_IDENTIFIER) ?? '',
    ...(!Number.isNaN(pid) && { pid }),
    ...(uid !== 0 && { uid }),
    text,
  };
}

/** journald gives a message that is not printable UTF-8 as an array of bytes. */
function textOf(message: unknown): string | undefined {
  if (typeof message === 'string') return message;
  return Array.isArray(message) ? Buffer.from(message as number[]).toString('latin1') : undefined;
}

/** The fields of audit.k8s.io/v1 Event that say what was done. */
interface AuditEvent {
  readonly stage?: string;
  readonly verb?: string;
  readonly requestURI?: string;
  readonly userAgent?: string;
  readonly user?: { readonly username?: string };
  readonly objectRef?: Readonly<Record<'resource' | 'subresource' | 'namespace' | 'name', string>>;
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp?: string;
}

function auditLine(event: AuditEvent): LogLine | undefined {
  const time = Date.parse(event.requestReceivedTimestamp ?? '');
  if (Number.isNaN(time) || event.stage !== 'ResponseComplete') return undefined;
  const { resource, subresource, namespace, name } = event.objectRef ?? {};
  const what = [resource, subresource].filter(Boolean).join('/') || event.requestURI?.split('?')[0];
  // Of a namespace, both are its name.
  const object = [namespace === name ? '' : namespace, name].filter(Boolean).join('/');
  const words = [event.verb, what, object, event.responseStatus?.code].filter(Boolean).join(' ');
  return {
    time,
    host: '',
    source: 'audit',
    text: `${words} user=${event.user?.username ?? ''} agent="${event.userAgent ?? ''}"`,
  };
}
