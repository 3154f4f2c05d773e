import type { CommandModule } from 'yargs';
import { runDir } from '../config/default-settings.ts';
import { asBerthError, BerthError } from '../errors.ts';
import { logfmtLogger } from '../log.ts';
import type { EndedSession } from '../ssh/sessions/end-sessions.ts';
import type { Session } from '../ssh/sessions/session.ts';
import { countText } from './count-text.ts';
import { durationText, parseSeconds } from './duration.ts';
import { withProgress } from './progress.ts';
import { tellBySettings } from './sessions-notice.ts';
import { errorText, escapedForTerminal, reportError, type Terminal } from './terminal.ts';
import {
  filterOf,
  filterOptions,
  readSessions,
  sayNothingFound,
  sessionPositional,
  type FilterArguments,
} from './sessions-select.ts';

interface EndArguments extends FilterArguments {
  readonly session?: readonly string[] | undefined;
  readonly all: boolean;
  readonly grace: string;
  readonly message?: string | undefined;
  readonly 'dry-run': boolean;
  readonly config?: string | undefined;
}

export function endCommand(terminal: Terminal): CommandModule<object, EndArguments> {
  return {
    command: 'end [session..]',
    describe: 'End sessions, with a message and time to finish',
    builder: (yargs) =>
      filterOptions(yargs)
        .positional('session', sessionPositional)
        .option('all', {
          type: 'boolean',
          default: false,
          describe: 'All sessions of this node, or all that the filters select; never your own',
        })
        .option('grace', {
          type: 'string',
          requiresArg: true,
          default: '0s',
          describe: 'How long the sessions may go on',
        })
        .option('message', {
          type: 'string',
          requiresArg: true,
          describe:
            'A line for the terminals of these sessions, unless their profile has notices: false',
        })
        .option('dry-run', {
          type: 'boolean',
          default: false,
          describe: 'Print what would be ended, and end nothing',
        })
        .option('config', {
          type: 'string',
          requiresArg: true,
          describe: 'Configuration of sessions [default: /etc/berth/ssh.yml]',
        })
        .example('berth sessions end 4711', 'End one session now')
        .example(
          'berth sessions end --all --grace 10m --message "Back at 14:00"',
          'Tell everybody, and end what is left after ten minutes',
        )
        .epilogue(
          'A session ends as if its client had closed the connection: what it started is cleaned up. Exit status: 0 all of them are gone; 69 there is no such session; 75 something is left, and `berth reap` tries again.',
        ),
    handler: async (args) => {
      try {
        await end(args, terminal);
      } catch (thrown) {
        reportError(terminal, asBerthError(thrown, 'berth sessions end'));
      }
    },
  };
}

async function end(args: EndArguments, terminal: Terminal): Promise<void> {
  const graceSeconds = parseSeconds(args.grace, 'grace', { least: '0s', most: '1d' });
  const sessions = await chosen(args, terminal);
  if (sessions.length === 0) {
    sayNothingFound(terminal, args, 'there is no session to end');
    return;
  }
  if (args['dry-run']) {
    for (const one of sessions) terminal.stdout.write(`would end ${nameOf(one)}\n`);
    return;
  }
  await endAndReport(sessions, { ...args, graceSeconds }, terminal);
}

interface EndAndReportOptions {
  readonly graceSeconds: number;
  readonly message?: string | undefined;
  readonly config?: string | undefined;
}

/**
 * Tells the sessions, ends them, and prints a line for each.
 *
 * @returns those that could not be ended
 */
export async function endAndReport(
  sessions: readonly Session[],
  { graceSeconds, message, config }: EndAndReportOptions,
  terminal: Terminal,
): Promise<readonly Session[]> {
  const [{ endSessions }, { loadSshSettings }] = await Promise.all([
    import('../ssh/sessions/end-sessions.ts'),
    import('../settings/load-ssh-settings.ts'),
  ]);
  const settings = await loadSshSettings({ configFile: config ?? '/etc/berth/ssh.yml' });
  const log = logfmtLogger((line) => terminal.stderr.write(`${line}\n`));
  const site = { settings, run: runDir, log, now: terminal.now };
  const when = graceSeconds === 0 ? 'now' : `in ${durationText(graceSeconds)}`;
  if (message !== undefined || graceSeconds > 0)
    await tellBySettings(sessions, `This session ends ${when}. ${message ?? ''}`.trim(), config);
  let over = 0;
  const ended = await withProgress(
    terminal,
    () => `waiting for ${countText(sessions.length, 'session')} to end; ended: ${over}`,
    () => endSessions(site, sessions, { graceMs: graceSeconds * 1000, onEnd: () => (over += 1) }),
  );
  for (const one of ended) report(one, terminal);
  return ended.flatMap(({ session, outcome }) => (outcome === 'failed' ? [session] : []));
}

function report({ session, outcome, failed }: EndedSession, terminal: Terminal): void {
  if (outcome !== 'failed') {
    const did = outcome === 'ended' ? 'ended' : 'had already ended:';
    terminal.stdout.write(`${did} ${nameOf(session)}\n`);
  }
  for (const error of failed) terminal.stderr.write(errorText(error));
  // 75 whatever failed: the reaper tries again.
  if (failed.length > 0)
    terminal.finish(new BerthError('', { code: 'reap-incomplete', hint: '' }).exitCode);
}

async function chosen(args: EndArguments, terminal: Terminal): Promise<readonly Session[]> {
  const { filterSessions, findSessions } = await import('../ssh/sessions/find-sessions.ts');
  const words = (args.session ?? []).map(String);
  if (args.all === words.length > 0) throw whichSessions();
  const all = await readSessions(terminal);
  if (!args.all) return filterSessions(findSessions(all, words), filterOf(args));
  const { ownSession } = await import('../ssh/sessions/own-session.ts');
  const own = ownSession(all);
  const others = filterSessions(all, filterOf(args)).filter((one) => one !== own);
  if (own !== undefined) terminal.stderr.write(`left alone: ${nameOf(own)}, your own session\n`);
  return others;
}

function nameOf({ id, user }: Session): string {
  return `${id} of ${escapedForTerminal(user)}`;
}

function whichSessions(): BerthError {
  return new BerthError('give either sessions (IDs or users) or --all', {
    code: 'usage',
    hint: 'For all of alice: `berth sessions end alice`. With filters: `berth sessions end --all --idle-over 8h`.',
  });
}
