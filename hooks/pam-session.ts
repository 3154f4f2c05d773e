import { logfmtLogger } from '../src/log.ts';
import { pamSession } from '../src/flows/pam-session.ts';
import { leanStart } from '../src/system/lean-start.ts';
import { leave } from '../src/system/leave.ts';
import { leaveBySyslog, syslog } from '../src/system/syslog.ts';

/** sshd waits for the hook, and so does whoever logs in. Milliseconds. */
const patience = process.env.PAM_TYPE === 'open_session' ? 4_000 : 45_000;

/** The last line is written in leaving, which costs least; it is nearly always the only one. */
let last: string | undefined;
const log = logfmtLogger((line) => {
  if (last !== undefined) void syslog(last);
  last = line;
});

function end(code: number): void {
  if (last !== undefined) leaveBySyslog(last);
  leave(code);
}

leanStart(process.env);
process.umask(0o022);
setTimeout(() => {
  log.warning('pam-session was given up: it took too long', {
    code: 'pam-session-deadline',
    user: process.env.PAM_USER,
    milliseconds: patience,
  });
  end(75);
}, patience).unref();
void pamSession({
  args: process.argv.slice(2),
  env: process.env,
  caller: process.ppid,
  log,
  now: Date.now,
}).then(end);
