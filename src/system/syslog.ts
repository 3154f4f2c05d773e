import { accessSync, constants } from 'node:fs';
import type { LogLevel } from '../log.ts';

const logger = '/usr/bin/logger';

/** Where an admin finds the lines, in Markdown. */
export const whereLogged =
  '`journalctl -t berth` or, without a journal, /var/log/auth.log or /var/log/secure';

/** Longest line, in characters. An argument that is too long would make execve fail. */
const longest = 8192;

/**
 * Facility authpriv, as sshd's own lines: only root should see who logged in when. Without a syslog, it ends with 0: that is
 * no failure of a login.
 */
const words = (line: string, level: LogLevel): string[] => [
  '--socket-errors=off',
  '-S',
  String(longest),
  '-t',
  'berth',
  '-p',
  `authpriv.${level === 'error' ? 'err' : level}`,
  '--',
  line.slice(0, longest),
];

/**
 * Replaces the process with logger(1), which writes this line to syslog: Node cannot open datagram sockets, and a child
 * would cost more. The exit code is logger's.
 *
 * If logger is not installed, it returns and the line is lost. The line must not contain secrets: it is an argument.
 */
export function exitThroughLogger(line: string, level: LogLevel): void {
  // If execve fails, Node aborts.
  if (canLog()) process.execve?.(logger, [logger, ...words(line, level)], {});
}

/**
 * Writes a line to syslog with a child process that is not waited for, so a hanging syslog does not delay a login. If
 * logger(1) is not installed, the line is lost. The line must not contain secrets: it is an argument.
 */
export async function logToSyslog(line: string, level: LogLevel): Promise<void> {
  if (!canLog()) return;
  const { startProgram } = await import('./run-program.ts');
  const child = startProgram(logger, words(line, level), {
    stdio: ['ignore', 'ignore', 'ignore'],
    detached: true,
    env: {},
  });
  child.on('error', () => undefined);
  child.unref();
}

function canLog(): boolean {
  try {
    accessSync(logger, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
