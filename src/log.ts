import type { BerthError, ErrorCode } from './errors.ts';

export type LogLevel = 'info' | 'warning' | 'error';
export interface LogFields extends Readonly<Record<string, string | number | boolean | undefined>> {
  readonly code?: ErrorCode;
}

/** Where lines go. The entry point decides: standard error for a hook, a terminal for `berth`. */
export type LogSink = (line: string) => void;

export interface Logger {
  info(message: string, fields?: LogFields): void;
  warning(message: string, fields?: LogFields): void;
  /** The error with its code, its next step and its fields, in one line. */
  error(error: BerthError, fields?: LogFields): void;
  /** A logger that adds these fields to every line. */
  with(fields: LogFields): Logger;
}

/**
 * Lines for syslog: logfmt (`level=error msg="…" code=…`), one line an event, control characters
 * escaped, so that what a server answered can never forge a line or steer a terminal.
 */
export function logfmtLogger(sink: LogSink, fixed: LogFields = {}): Logger {
  const emit = (level: LogLevel, msg: string, fields: LogFields): void =>
    sink(logfmt({ level, msg, ...fixed, ...fields }));
  return {
    info: (message, fields = {}) => emit('info', message, fields),
    warning: (message, fields = {}) => emit('warning', message, fields),
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

/** `key=value` pairs; a value is quoted where it holds anything but plain printable ASCII. */
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
 * Text of a server, a child or a user, made harmless for a terminal and for one-line logs: C0 and
 * C1 controls, DEL, line separators and bidirectional overrides become `\n`, `\t` or `\u{…}`.
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
