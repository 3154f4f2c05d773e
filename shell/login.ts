import { realpathSync, writeSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { asBerthError } from '../src/errors.ts';
import { openSession } from '../src/ssh/open/open-session.ts';
import { escapeControl, logfmtLogger, type Logger } from '../src/log.ts';
import { sessionRequest } from '../src/ssh/request/session-request.ts';
import { userAdvice } from '../src/ssh/request/user-advice.ts';
import { become } from '../src/system/become.ts';
import { leave } from '../src/system/leave.ts';
import { type OwnWords, withRawBytes } from '../src/system/raw-bytes.ts';
import { isTerminal } from '../src/system/is-terminal.ts';
import { randomDigits } from '../src/system/random-digits.ts';
import { syslog } from '../src/system/syslog.ts';

/** What ssh(1) itself exits with where there is no session: no command's own code. */
const noSession = 255;

async function main(own: OwnWords, log: Logger): Promise<void> {
  // Whenever a child's pipe closes, Node looks whether it is `process.stderr`, and to look makes a stream
  // of it: stderr would be non-blocking for the session that we become, which then loses what it writes.
  Object.defineProperty(process, 'stderr', { value: undefined, configurable: true });
  // A connection starts in the home, which may hang or be somebody else's link by now.
  process.chdir('/');
  const { args, env } = withRawBytes(own);
  const itself = process.argv[1] ?? '/';
  const request = sessionRequest(args, env.SSH_ORIGINAL_COMMAND, isTerminal(0), itself);
  // sshd_config and passwd may name a link to it.
  const filesFolder = join(dirname(dirname(realpathSync(itself))), 'files');
  const opened = await openSession({ request, env, filesFolder, itself, log });
  if ('exitCode' in opened) leave(opened.exitCode);
  else become(opened);
}

/** In the user's line and in syslog: by it the admin finds the whole story. */
const session = randomDigits(8);
const log = logfmtLogger((line) => void syslog(line), {
  session,
  // Asked for where there is something to say: NSS may be far away.
  get user() {
    return ownNameOrUid();
  },
});

/** That NSS does not know the user, because the directory is down, is said by `openSession`. */
function ownNameOrUid(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}

main({ args: process.argv.slice(2), env: process.env }, log).catch((thrown: unknown) => {
  const error = asBerthError(thrown, 'starting your session');
  log.error(error);
  const said = `${escapeControl(error.message)} [${error.code}, session ${session}]`;
  writeSync(2, `login: ${said}. ${escapeControl(userAdvice(error))}\n`);
  process.exitCode = noSession;
});
