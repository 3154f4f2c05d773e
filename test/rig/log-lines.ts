/** One line of the hook's log, its fields as a person reads them. */
export type LogLine = Readonly<Record<string, string>>;

/** The lines of a hook's standard error; a line that is not logfmt is an error of the test's. */
export function logLines(stderr: string): LogLine[] {
  return stderr
    .split('\n')
    .filter((line) => line !== '')
    .map(parse);
}

/** The lines that say what went wrong. */
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
    throw new Error(`this is no log line: ${JSON.stringify(line)}`);
  return fields;
}
