import type { LogCode } from './system/errors/error-codes.ts';
import type { BerthError } from './system/errors/berth-error.ts';
import { nextStep } from './system/errors/next-step.ts';
import type { LogEvent, LogEventFields } from './system/text/log-events.ts';

export type LogLevel = 'info' | 'warning' | 'error';
export interface LogFields extends Readonly<Record<string, string | number | boolean | undefined>> {
  readonly code?: LogCode;
}

/** `log_format` of berth.yml and ssh.yml. */
export const logFormats = ['logfmt', 'json'] as const;
export type LogFormat = (typeof logFormats)[number];

/** Writes a line. The entry point chooses: standard error for a hook, syslog for a session. */
export type LogSink = (line: string, level: LogLevel) => void;

/** What a line is about: an event of src/system/text/log-events.ts, or `error` or `warning` with a code. */
export interface LoggedEvent {
  readonly event: string;
  readonly fields: LogFields;
}

/** What docs/errors.md explains. */
type CodedFields = LogFields & { readonly code: LogCode };

export interface Logger {
  info<Event extends LogEvent>(event: Event, fields?: LogEventFields<Event>): void;
  warning<Event extends LogEvent>(event: Event, fields?: LogEventFields<Event>): void;
  /** With its code's next step, if it has no hint of its own. */
  warning(message: string, fields: CodedFields): void;
  /** The error with its code, its next step and its fields, in one line. */
  error(error: BerthError, fields?: LogFields): void;
  /** A logger that adds these fields to every line. */
  with(fields: LogFields): Logger;
}

let format: LogFormat = 'logfmt';

/** Chooses the format of all later lines of this process. Before it, and without it, they are logfmt. */
export function useLogFormat(chosen: LogFormat = 'logfmt'): void {
  format = chosen;
}

/**
 * Lines for syslog, one for each event, in logfmt (`level=error msg="…" code=…`) or as JSON. Control characters are
 * escaped, so that text of a server cannot forge a line or control a terminal.
 *
 * @param observe Is told of each event, for example to count it.
 */
export function lineLogger(
  sink: LogSink,
  fixed: LogFields = {},
  observe?: (logged: LoggedEvent) => void,
): Logger {
  const emit = (level: LogLevel, msg: string, given: LogFields, event = msg): void => {
    const fields = { ...fixed, ...given };
    const all = { level, msg, ...fields };
    sink(format === 'json' ? jsonLine(all) : logfmt(all), level);
    observe?.({ event, fields });
  };
  return {
    info: (event, fields) => emit('info', event, fields ?? {}),
    warning: (message: string, fields: LogFields = {}) => {
      const { code, hint = code && nextStep(code) } = fields;
      emit('warning', message, { ...fields, hint }, code ? 'warning' : message);
    },
    error: (error, fields = {}) =>
      emit(
        'error',
        error.message,
        {
          code: error.code,
          ...error.fields,
          ...fields,
          hint: error.hint,
          cause: error.cause instanceof Error ? error.cause.message : undefined,
        },
        'error',
      ),
    with: (fields) => lineLogger(sink, { ...fixed, ...fields }, observe),
  };
}

/** Longest string in a line of JSON, so that the line is not cut (src/system/syslog.ts). Characters, escaped. */
const longestString = 1_200;

/** A line of JSON. What JSON need not escape, and a terminal would obey, is escaped too. */
function jsonLine(fields: LogFields): string {
  const bounded = Object.entries(fields).map(([key, value]) => [
    key,
    typeof value === 'string' ? cut(value) : value,
  ]);
  return escapeInvisible(JSON.stringify(Object.fromEntries(bounded)));
}

/**
 * Escapes, as `\uXXXX`, the characters that are legal in JSON and YAML strings but that a terminal
 * interprets or hides: DEL, C1 controls, line separators and bidirectional overrides.
 */
export function escapeInvisible(text: string): string {
  return text.replace(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Its beginning, and `…`, if it would be too long. */
function cut(text: string): string {
  let kept = text.slice(0, longestString);
  while (escapeInvisible(JSON.stringify(kept)).length > longestString + 2)
    kept = kept.slice(0, kept.length / 2);
  return kept.length === text.length ? text : `${kept}…`;
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

const escapes: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\\': '\\\\',
};

/**
 * Escapes untrusted text for a terminal and for one-line logs: C0 and C1 controls, DEL, line separators,
 * bidirectional overrides and backslashes become `\n`, `\t`, `\u{…}` or `\\`.
 */
export function escapeControl(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\\]/g,
    (character) => escapes[character] ?? `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`,
  );
}

/** Untrusted text on one line, with control characters escaped, as people read it: backslashes stay. */
export function escapedForTerminal(text: string): string {
  return escapeControl(text).replaceAll('\\\\', '\\');
}
