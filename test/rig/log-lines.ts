/** The fields of one logfmt line of the hook's log, unquoted. */
export type LogLine = Readonly<Record<string, string>>;

/** Parses a hook's stderr; what a dry run says at its end is no line of the log. @throws Error if a line is not logfmt */
export function logLines(stderr: string): LogLine[] {
  return stderr
    .split('\n')
    .filter((line) => line !== '' && line !== 'dry run: nothing was changed')
    .map(parse);
}

/** The lines with the level `error`. */
export function errorLines(stderr: string): LogLine[] {
  return logLines(stderr).filter(({ level }) => level === 'error');
}

/** The codes of the warnings. */
export function warningCodes(stderr: string): (string | undefined)[] {
  return logLines(stderr)
    .filter(({ level }) => level === 'warning')
    .map(({ code }) => code);
}

function parse(line: string): LogLine {
  const fields: Record<string, string> = {};
  const pattern = /(\w+)=(?:"((?:[^"\\]|\\.)*)"|(\S+))(?: |$)/gy;
  let read = 0;
  for (const [pair, key = '', quoted, plain = ''] of line.matchAll(pattern)) {
    fields[key] = quoted ?? plain;
    read += pair.length;
  }
  if (read < line.length || fields.level === undefined)
    throw new Error(`not a log line: ${JSON.stringify(line)}`);
  return fields;
}
