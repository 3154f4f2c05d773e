import { realpathSync, writeSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { asBerthError } from '../src/system/errors/berth-error.ts';
import { noteFailedSession, openSession } from '../src/login/open/open-session.ts';
import { escapeControl, lineLogger, type Logger } from '../src/log.ts';
import { sessionRequest } from '../src/sessions/request/session-request.ts';
import { ownSessionId } from '../src/login/open/own-session-id.ts';
import { userAdvice } from '../src/sessions/request/user-advice.ts';
import { execProcess } from '../src/system/exec-process.ts';
import { exitNow } from '../src/system/exit-now.ts';
import { type ProcessInput, withRawBytes } from '../src/system/program/raw-bytes.ts';
import { isTerminal } from '../src/system/controlling-terminal.ts';
import { logToSyslog } from '../src/system/syslog.ts';

/** What ssh(1) exits with if there is no session. Commands do not use it. */
const noSession = 255;

async function main(own: ProcessInput, log: Logger): Promise<void> {
  // When a child's pipe closes, Node compares it with `process.stderr`, which creates a stream for descriptor 2 and makes
  // it non-blocking. The session inherits the descriptor and would lose output.
  Object.defineProperty(process, 'stderr', { value: undefined, configurable: true });
  // The working directory is the home, which may hang or have been replaced.
  process.chdir('/');
  const { args, env } = withRawBytes(own);
  const itself = process.argv[1] ?? '/';
  const request = sessionRequest(args, env.SSH_ORIGINAL_COMMAND, isTerminal(0), itself);
  // sshd_config and passwd may contain a symlink to it.
  const toolsDir = join(dirname(dirname(realpathSync(itself))), 'files');
  const opened = await openSession({
    request,
    env,
    toolsDir,
    itself,
    log,
    answer: async (given) => {
      const { answerUser } = await import('../src/cli/self-service/answer-user.ts');
      return answerUser(given);
    },
  });
  if ('exitCode' in opened) exitNow(opened.exitCode);
  else execProcess(opened);
}

// Both are looked up only when something is logged.
const log = lineLogger((line, level) => void logToSyslog(line, level), {
  get session() {
    return ownSessionId(process.env);
  },
  get user() {
    return ownNameOrUid();
  },
});

/** If NSS does not know the user, `openSession` reports it. */
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
  const said = `${escapeControl(error.message)} [${error.code}, session ${ownSessionId(process.env)}]`;
  // The user, and whoever gets the line, knows the login node only.
  const node = process.env.BERTH_JOB_DIRECTORY === undefined ? '' : ` on ${hostname()}`;
  writeSync(2, `login${node}: ${said}. ${escapeControl(userAdvice(error))}\n`);
  noteFailedSession(process.env, error.code);
  process.exitCode = noSession;
});
