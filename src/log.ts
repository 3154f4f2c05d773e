import type { LogCode } from './errors/error-codes.ts';
import type { BerthError } from './errors/berth-error.ts';
import type { LogEvent, LogEventFields } from './log-events.ts';

export type LogLevel = 'info' | 'warning' | 'error';
export interface LogFields extends Readonly<Record<string, string | number | boolean | undefined>> {
  readonly code?: LogCode;
}

/** Writes a line. The entry point chooses: standard error for a hook, syslog for a session. */
export type LogSink = (line: string) => void;

/** What docs/errors.md explains. */
type CodedFields = LogFields & { readonly code: LogCode };

export interface Logger {
  info<Event extends LogEvent>(event: Event, fields?: LogEventFields<Event>): void;
  warning<Event extends LogEvent>(event: Event, fields?: LogEventFields<Event>): void;
  warning(message: string, fields: CodedFields): void;
  /** The error with its code, its next step and its fields, in one line. */
  error(error: BerthError, fields?: LogFields): void;
  /** A logger that adds these fields to every line. */
  with(fields: LogFields): Logger;
}

/**
 * Lines for syslog in logfmt (`level=error msg="…" code=…`), one for each event. Control characters are
 * escaped, so that text of a server cannot forge a line or control a terminal.
 */
export function logfmtLogger(sink: LogSink, fixed: LogFields = {}): Logger {
  const emit = (level: LogLevel, msg: string, fields: LogFields): void =>
    sink(logfmt({ level, msg, ...fixed, ...fields }));
  return {
    info: (event, fields) => emit('info', event, fields ?? {}),
    warning: (event: string, fields?: LogFields) => emit('warning', event, fields ?? {}),
    error: (error, fields = {}) =>
      emit('error', error.message, {
        code: error.code,
        ...error.fields,
        ...fields,
        hint: error.hint,
        ...(error.cause instanceof Error ? { cause: error.cause.message } : {}),
      }),
    with: (fields) => logfmtLogger(sink, { ...fixed, ...fields }),
  };
}

/** `key=value` pairs; a value is quoted unless it is plain printable ASCII. */
function logfmt(fields: LogFields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${quote(String(value))}`)
    .join(' ');
}

function quote(value: string): string {
  if (/^[\w@%+,./:~-]+$/.test(value)) return value;
  return `"${escapeControl(value).replaceAll('"', '\\"')}"`;
}

/**
 * Escapes untrusted text for a terminal and for one-line logs: C0 and C1 controls, DEL, line separators,
 * bidirectional overrides and backslashes become `\n`, `\t`, `\u{…}` or `\\`.
 */
export function escapeControl(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\\]/g,
    (character) => {
      if (character === '\n') return '\\n';
      if (character === '\r') return '\\r';
      if (character === '\t') return '\\t';
      if (character === '\\') return '\\\\';
      return `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`;
    },
  );
}

/** Untrusted text on one line, with control characters escaped, as people read it: backslashes stay. */
export function escapedForTerminal(text: string): string {
  return escapeControl(text).replaceAll('\\\\', '\\');
}
