import { lineLogger, type LogLevel } from '../src/log.ts';
import { pamSession } from '../src/login/pam/pam-session.ts';
import { EventSpool } from '../src/system/event-spool.ts';
import { tuneStartup } from '../src/system/tune-startup.ts';
import { exitNow } from '../src/system/exit-now.ts';
import { exitThroughLogger, logToSyslog } from '../src/system/syslog.ts';

/** sshd and the user wait for this hook. Milliseconds. */
const timeoutMs =
  process.argv[2] === 'close' || process.env.PAM_TYPE === 'close_session' ? 45_000 : 4_000;

/** Longer than the deadline for requests to a cluster. Milliseconds. */
const clusterPatience = 12_000;

/** The last log line, usually the only one, is written by replacing the process with logger(1), which needs no fork. */
let last: readonly [line: string, level: LogLevel] | undefined;
const spool = new EventSpool('pam-session');
const log = lineLogger(
  (line, level) => {
    if (last !== undefined) void logToSyslog(...last);
    last = [line, level];
  },
  {},
  spool.observe,
);

async function end(code: number): Promise<void> {
  spool.write();
  if (last !== undefined && code === 0) exitThroughLogger(...last);
  if (last !== undefined) await logToSyslog(...last);
  exitNow(code);
}

tuneStartup(process.env);
process.umask(0o022);
spool.open();
let due = 0;
let timer: NodeJS.Timeout | undefined;
const limit = (milliseconds: number): void => {
  clearTimeout(timer);
  due = performance.now() + milliseconds;
  timer = setTimeout(giveUp, milliseconds).unref();
};
const giveUp = (): void => {
  // It was stopped, as its user can do (KillSession of logind): a session would begin of which root knows nothing.
  if (performance.now() > due + 1_000) {
    limit(1_000);
    return;
  }
  log.warning('pam-session stopped because it took too long', {
    code: 'pam-session-deadline',
    user: process.env.PAM_USER,
    milliseconds: performance.now(),
  });
  void end(75);
};
limit(timeoutMs);
void pamSession({
  args: process.argv.slice(2),
  env: process.env,
  parent: () => process.ppid,
  log,
  spool,
  now: Date.now,
  onSlow: () => {
    limit(Math.max(timeoutMs, clusterPatience));
  },
}).then(end);
