import { accessSync, constants } from 'node:fs';

const logger = '/usr/bin/logger';

/** Of a line; a longer argument than Linux takes would be an error of execve. Characters. */
const longest = 8192;

/** Facility authpriv: who was here when is for root's eyes, as sshd's own lines are. */
const words = (line: string): string[] => [
  ...['-S', String(longest), '-t', 'berth', '-p', `authpriv.${priorityOf(line)}`],
  ...['--', line.slice(0, longest)],
];

/**
 * Ends the process by becoming logger(1), which writes this line to syslog: Node cannot open datagram
 * sockets, and a child would cost more than the exec. Its exit code is logger's.
 *
 * Without logger it returns, and the line is lost. Nothing secret may be in the line: it is an argument.
 */
export function leaveBySyslog(line: string): void {
  // A failed execve aborts Node.
  if (canLog()) process.execve?.(logger, [logger, ...words(line)], {});
}

/**
 * Writes a line to syslog by a child that nobody waits for: syslog that hangs holds no login. Without
 * logger(1) the line is lost. Nothing secret may be in it: it is an argument.
 */
export async function syslog(line: string): Promise<void> {
  if (!canLog()) return;
  const { spawn } = await import('node:child_process');
  const child = spawn(logger, words(line), { stdio: 'ignore', detached: true, env: {} });
  child.on('error', () => undefined);
  child.unref();
}

/** As the line itself says: `level=error …`, src/log.ts. */
function priorityOf(line: string): string {
  const level = /^level=(error|warning)\b/.exec(line)?.[1];
  if (level === 'error') return 'err';
  return level ?? 'info';
}

function canLog(): boolean {
  try {
    accessSync(logger, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
