import { logfmtLogger } from '../src/log.ts';
import { pamSession } from '../src/ssh/pam/pam-session.ts';
import { leanStart } from '../src/system/lean-start.ts';
import { leave } from '../src/system/leave.ts';
import { leaveBySyslog, syslog } from '../src/system/syslog.ts';

/** sshd waits for the hook, and so does whoever logs in. Milliseconds. */
const patience =
  process.argv[2] === 'close' || process.env.PAM_TYPE === 'close_session' ? 45_000 : 4_000;

/** Where a cluster is asked, its own deadline comes before this one. Milliseconds. */
const clusterPatience = 12_000;

/** The last line is written in leaving, which costs least; it is nearly always the only one, of success. */
let last: string | undefined;
const log = logfmtLogger((line) => {
  if (last !== undefined) void syslog(last);
  last = line;
});

async function end(code: number): Promise<void> {
  if (last !== undefined && code === 0) leaveBySyslog(last);
  if (last !== undefined) await syslog(last);
  leave(code);
}

leanStart(process.env);
process.umask(0o022);
const giveUp = (): void => {
  log.warning('pam-session was given up: it took too long', {
    code: 'pam-session-deadline',
    user: process.env.PAM_USER,
    milliseconds: performance.now(),
  });
  void end(75);
};
let timer = setTimeout(giveUp, patience).unref();
void pamSession({
  args: process.argv.slice(2),
  env: process.env,
  caller: process.ppid,
  log,
  now: Date.now,
  onSlow: () => {
    clearTimeout(timer);
    timer = setTimeout(giveUp, Math.max(patience, clusterPatience)).unref();
  },
}).then(end);
