import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';
import { countText } from '../../system/text/count-text.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import type { SessionIdParts } from '../../system/program/session-id.ts';
import { runProgram } from '../../system/run-program.ts';
import { parseLogLine } from './log-line.ts';
import type { SessionLines } from './session-lines.ts';

const journalctl = '/usr/bin/journalctl';

/** What is read of journalctl for root's lines. Bytes. */
const mostOfRoot = 64 * 1024 * 1024;

/** The same for all lines: users can write any number. */
const mostOfUsers = 16 * 1024 * 1024;

/** A longer line is no line of a session; bytes. */
const longestLine = 1024 * 1024;

/**
 * Adds the lines of this host's journal: those of Berth that name the session, root's first, and those of its sshd.
 *
 * @returns whether the oldest were left out because there are too many
 * @throws {BerthError} `journal-unreadable`
 */
export async function readJournal(
  { process }: SessionIdParts,
  to: SessionLines,
  now: number,
): Promise<boolean> {
  const [pid = ''] = process.split('.');
  const common = ['--no-pager', '--quiet', '--output=json', '--reverse'];
  // Without it, long messages are left out, such as those of users that have many megabytes.
  const withLong = '--all';
  const ofBerth = [...common, '-t', 'berth', `--grep=${process.replace('.', '\\.')}@`];
  // Fields that begin with `_` are of journald, not of who writes (systemd.journal-fields(7)).
  const ofRoot = '_UID=0';
  // sshd's own lines at all times: PIDs are used again, so most of them are dropped afterwards.
  const ofSshd = [...common, withLong, '-t', 'sshd', '-t', 'sshd-session'];
  let isCut = false;
  await read([...ofBerth, withLong, ofRoot], mostOfRoot);
  await read([...ofSshd, `_PID=${pid}`, ofRoot], mostOfRoot);
  // They run as the user.
  const ofChildren = [...to.children].map((child) => `_PID=${child}`);
  if (ofChildren.length > 0) await read([...ofSshd, ...ofChildren], mostOfUsers);
  await read(ofBerth, mostOfUsers, true);
  return isCut;

  async function read(args: readonly string[], maxBuffer: number, isKnown = false): Promise<void> {
    const { error, stdout, stderr } = await runProgram(journalctl, args, { maxBuffer });
    const isLonger = error?.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER';
    // It exits with 1 if no line fits.
    if (error !== undefined && !isLonger && (error.code !== 1 || stderr !== ''))
      throw unreadable(error, stderr);
    isCut ||= isLonger;
    for (const line of stdout.split('\n')) {
      const parsed = parseLogLine(line, now);
      if (parsed !== undefined && !(isKnown && parsed.uid === undefined)) to.add(parsed);
    }
  }
}

/**
 * Adds the lines of a file, which may be compressed with gzip.
 *
 * @returns what could not be read of it; undefined if nothing
 * @throws {BerthError} `log-file-unreadable`
 */
export async function readLogFile(
  path: string,
  to: SessionLines,
  now: number,
): Promise<string | undefined> {
  const unread = { isKnown: false, lines: 0, named: 0 };
  const file = createReadStream(path);
  const input = path.endsWith('.gz') ? file.pipe(createGunzip()) : file;
  // `pipe` does not pass it on.
  file.on('error', (error) => input.destroy(error));
  let rest = '';
  try {
    for await (const chunk of input as AsyncIterable<Buffer>) {
      const lines = (rest + chunk.toString('latin1')).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > longestLine) rest = '';
      for (const line of lines) addBytes(line);
    }
  } catch (cause) {
    throw new BerthError('log-file-unreadable', `cannot read ${path}`, {
      cause,
      fields: { file: path },
    });
  }
  addBytes(rest);
  if (unread.lines > 0 && !unread.isKnown)
    return `${path} has no line of a known form (is it compressed?)`;
  return unread.named === 0
    ? undefined
    : `${path} names the session in ${countText(unread.named, 'line')} of an unknown form`;

  /** @param line its bytes, as Latin-1: most are of other sessions, and need not be decoded */
  function addBytes(line: string): void {
    if (line === '' || line.length > longestLine) return;
    unread.lines += 1;
    const isWanted = to.mayHave(line);
    // One known line tells that the file is a log.
    if (!isWanted && unread.isKnown) return;
    const isRead = addLine(Buffer.from(line, 'latin1').toString('utf8'), to, now);
    unread.isKnown ||= isRead;
    if (!isRead && to.names(line)) unread.named += 1;
  }
}

/** @returns false if the line has no known form */
function addLine(line: string, to: SessionLines, now: number): boolean {
  const parsed = parseLogLine(line, now);
  if (parsed !== undefined) to.add(parsed);
  // A request's other stages.
  return parsed !== undefined || line.includes('"audit.k8s.io/v1"');
}

function unreadable(cause: Error, stderr: string): BerthError {
  const why = stderr.trim() === '' ? '' : `: ${stderr.trim()}`;
  return new BerthError('journal-unreadable', `journalctl cannot read the journal${why}`, {
    cause,
  });
}
