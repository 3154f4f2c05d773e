import type { OwnSessions } from '../../sessions/backends/own-session.ts';
import { runDir } from '../../config/schema/default-settings.ts';
import type { SessionContext } from '../../sessions/connections/state-paths.ts';
import { asBerthError, type BerthError, withHint } from '../../system/errors/berth-error.ts';
import { userAdvice } from '../../sessions/request/user-advice.ts';
import type { SelfServiceInput } from '../../login/open/open-session.ts';
import { ownProfiles } from '../../login/self-service/own-profiles.ts';
import { ownSessions, sessionsNamed } from '../../login/self-service/own-sessions.ts';
import { ownStatus } from '../../login/self-service/own-status.ts';
import { reportError, textOutputs } from '../kit/terminal.ts';
import { type AskedCommand, askedCommand, usageText } from './command-words.ts';
import {
  type Answer,
  endedAnswer,
  profilesAnswer,
  sessionsAnswer,
  statusAnswer,
} from './answers.ts';

/**
 * Answers a command that a user sent to the login, as this user. Starts nothing.
 *
 * @returns the exit code: 0, that of the first error, or 74 or 141 if the answer could not be written
 */
export async function answerUser(input: SelfServiceInput): Promise<number> {
  const outputs = textOutputs();
  const { log, command } = input;
  let status = 0;
  const fail = (error: BerthError): void => {
    if (!error.forUser) log.error(error);
    reportError(
      {
        stderr: outputs.stderr,
        finish: (code) => {
          status ||= code;
        },
      },
      withHint(error, userAdvice(error)),
    );
  };
  try {
    const word = input.settings.selfService ?? '';
    const asked = askedCommand(command, word);
    const { text, nothing, failed } = await answerOf(asked, input, word);
    if (text !== '') outputs.stdout.write(text);
    else if (failed.length === 0) outputs.stderr.write(nothing);
    failed.forEach(fail);
  } catch (thrown) {
    fail(asBerthError(thrown, command));
  }
  return Math.max(status, await outputs.finished());
}

async function answerOf(
  asked: AskedCommand,
  input: SelfServiceInput,
  word: string,
): Promise<Answer> {
  const { settings, user, log } = input;
  const site: SessionContext = { settings, run: runDir, log, now: Date.now };
  switch (asked.name) {
    case 'profiles':
      return profilesAnswer(ownProfiles(settings, input.asked));
    case 'status':
      return statusAnswer(await ownStatus(site, user));
    case 'end':
      return endedAnswer(await end(asked, await ownSessions(site, user)));
    case 'sessions':
      return sessionsAnswer(await ownSessions(site, user), site.now());
    case 'help':
      return { text: usageText(word), nothing: '', failed: [] };
  }
}

/** @returns what was ended, and each error */
async function end(
  { names, all }: AskedCommand,
  { sessions, failed }: OwnSessions,
): Promise<OwnSessions> {
  const [ended, errors] = [[], [...failed]] as [OwnSessions['sessions'][number][], BerthError[]];
  const failing = (thrown: unknown, what: string): void =>
    void errors.push(asBerthError(thrown, what));
  let wanted = sessions;
  try {
    if (!all) wanted = sessionsNamed(sessions, names);
  } catch (thrown) {
    failing(thrown, 'finding it');
    wanted = [];
  }
  for (const one of wanted) {
    try {
      await one.end();
      ended.push(one);
    } catch (thrown) {
      failing(thrown, `ending ${one.name}`);
    }
  }
  return { sessions: ended, failed: errors };
}
