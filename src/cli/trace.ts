import { existsSync } from 'node:fs';
import { BerthError } from '../system/errors/berth-error.ts';
import { escapedForTerminal } from '../log.ts';
import { parseSessionId } from '../system/program/session-id.ts';
import { directoryNames } from '../system/if-present.ts';
import type { LogLine } from '../diagnose/trace/log-line.ts';
import { command } from './kit/command.ts';
import { type ArgumentsOf, list } from './kit/options.ts';
import type { Terminal } from './kit/terminal.ts';
import { withProgress } from './kit/progress.ts';

const options = {
  file: list('file', 'Read these instead of the journal: syslog, audit logs; also with .gz'),
};
const words = {
  session: {
    type: 'string',
    demandOption: true,
    kind: 'ID',
    describe: 'Its ID, as in a log line or in what the user was told: 4711.8812345@login1',
  },
} as const;

/** `berth trace`: what all parts wrote about one session. */
export const traceCommand = command({
  command: 'trace <session>',
  describe: 'Print what the logs have about a session, in order',
  positionals: words,
  options,
  examples: [
    ['berth trace 4711.8812345@login1', "From this host's journal"],
    [
      'berth trace 4711.8812345 --file /var/log/auth.log /var/log/kubernetes/audit.log',
      'From files, such as those of a log server',
    ],
  ],
  epilogue:
    'A session is an SSH connection or a login at the portal. Its ID is in the lines of syslog (session=), in requests to clusters (User-Agent, so in audit logs), in the description of its pod, in the comment of its Slurm job, and in a label of its container. Lines of its sshd are shown, too. A line of the journal that root did not write names the UID of who did. Exit status: 0 found, 1 nothing found.',
  run: trace,
});

async function trace(
  args: ArgumentsOf<typeof options & typeof words>,
  terminal: Terminal,
): Promise<number> {
  const { SessionLines, mostLines } = await import('../diagnose/trace/session-lines.ts');
  const { readJournal, readLogFile } = await import('../diagnose/trace/read-lines.ts');
  const traced = parseSessionId(args.session);
  if (traced === undefined)
    throw new BerthError('usage', `'${args.session}' is not the ID of a session`, {
      hint: 'An ID is PID.STARTTIME@HOST, such as 4711.8812345@login1; @HOST may be left out. `berth sessions list` shows those of this host.',
    });
  const found = new SessionLines(traced);
  const unread: string[] = [];
  let reading = 'the journal';
  const isCut = await withProgress(
    terminal,
    () => `reading ${reading}`,
    async () => {
      const now = terminal.now();
      // systemd's package makes the directory on hosts without journald, too.
      if (args.file === undefined && journals.every((one) => directoryNames(one).length === 0))
        throw noJournal(args.session);
      if (args.file === undefined) return readJournal(traced, found, now);
      for (const path of args.file) {
        reading = path;
        unread.push(...[await readLogFile(path, found, now)].filter((one) => one !== undefined));
      }
      return false;
    },
  );
  const lines = found.sorted();
  if (found.isFull)
    terminal.stderr.write(`berth: only the first ${mostLines} lines that were found are shown\n`);
  if (isCut)
    terminal.stderr.write(
      'berth: the journal has too many lines that name the session: the oldest that users wrote are left out\n',
    );
  for (const line of lines) terminal.stdout.write(`${lineText(line)}\n`);
  if (lines.length === 0 && unread.length > 0)
    throw new BerthError('log-file-unreadable', unread.join('; '), { hint: `${readable}.` });
  for (const what of unread) terminal.stderr.write(`berth: ${what}; ${readable}\n`);
  if (lines.length > 0) return 0;
  const where = args.file === undefined ? "this host's journal" : 'these files';
  terminal.stderr.write(
    `berth: nothing about session ${args.session} in ${where}. Its host is named after the @; --file reads a log of that host, such as /var/log/auth.log or /var/log/secure.\n`,
  );
  return 1;
}

function lineText({ time, host, source, pid, uid, text }: LogLine): string {
  const name = pid === undefined ? source : `${source}[${pid}]`;
  const program = uid === undefined ? name : `${name} of UID ${uid}`;
  const words = [new Date(time).toISOString(), host, `${program}:`, text].filter(Boolean);
  return escapedForTerminal(words.join(' '));
}

const readable =
  'berth trace reads syslog files, `journalctl -o json` and audit logs, as text or compressed with gzip (.gz)';

const journals = ['/run/log/journal', '/var/log/journal'];
const logs = ['/var/log/auth.log', '/var/log/secure', '/var/log/messages'];

function noJournal(session: string): BerthError {
  const log = logs.find((path) => existsSync(path));
  const none = log === undefined ? ' and no file of syslog: there is no log to read' : '';
  return new BerthError('journal-unreadable', `this host has no journal${none}`, {
    hint: log && `Run \`berth trace ${session} --file ${log}\`.`,
  });
}
