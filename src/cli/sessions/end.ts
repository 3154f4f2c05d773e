import { setTimeout as sleep } from 'node:timers/promises';
import { runDir } from '../../config/schema/default-settings.ts';
import type { SshSettings } from '../../config/schema/profile/profile.ts';
import { countText } from '../../system/text/count-text.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { escapedForTerminal } from '../../log.ts';
import type { EndedSession } from '../../login/sessions/end-sessions.ts';
import type { SessionsAndPods } from '../../login/sessions/find-sessions.ts';
import type { Session } from '../../login/sessions/list-sessions.ts';
import { command } from '../kit/command.ts';
import { type ArgumentsOf, flag, text } from '../kit/options.ts';
import type { SettingsRead, SiteArguments } from '../kit/site-options.ts';
import { type Terminal, errorText } from '../kit/terminal.ts';
import { withProgress } from '../kit/progress.ts';
import { reapProcess } from '../kit/reap-process.ts';
import { durationText } from '../kit/text.ts';
import { parseSeconds } from '../kit/parse-seconds.ts';
import {
  filterOf,
  filterOptions,
  nothingFoundText,
  readAll,
  scopeOptions,
  sessionWords,
} from './select.ts';

const words = { session: sessionWords };

const options = {
  ...filterOptions,
  ...scopeOptions,
  all: flag(
    'All sessions of this node (with -A, all pods too), or all that the filters select; never your own',
  ),
  grace: text('TIME', 'How long the sessions may go on; at least 1s if a message was shown', {
    default: '0s',
  }),
  message: text(
    'TEXT',
    'A line for the terminals of these sessions, and without --grace for the standard error of others, unless their profile has notices: false',
  ),
  'dry-run': flag('Print what would be ended, and end nothing'),
};

type EndArguments = ArgumentsOf<typeof options & typeof words>;

export const endCommand = command({
  command: 'end [session..]',
  describe: 'End sessions, with a message and time to finish',
  positionals: words,
  options,
  examples: [
    ['berth sessions end 4711', 'End one session now'],
    [
      'berth sessions end --all --grace 10m --message "Back at 14:00"',
      'Tell everybody, and end what is left after ten minutes',
    ],
    ['berth sessions end u-alice/berth-base', 'Delete a pod, whichever login nodes use it'],
  ],
  epilogue:
    'A session ends as if its client had closed the connection: what it started is cleaned up. A pod is deleted after the grace; the message reaches only its sessions on this node. Exit status: 0 all of them are gone; 69 there is no such session; 75 something is left, and `berth reap` tries again.',
  run: end,
});

async function end(args: EndArguments, terminal: Terminal): Promise<void> {
  const graceSeconds = parseSeconds(args.grace, 'grace', { least: '0s', most: '1d' });
  const { sessions, pods, alsoIn, read } = await chosen(args, terminal);
  if (sessions.length + pods.length === 0) {
    terminal.stderr.write(nothingFoundText(args, 'end'));
    return;
  }
  const { endPodsAndReport, podText } = await import('./pods.ts');
  if (args['dry-run']) {
    const names = [...sessions.map(nameOf), ...pods.map(podText)];
    for (const name of names) terminal.stdout.write(`would end ${name}\n`);
    return;
  }
  const grace = performance.now() + graceSeconds * 1000;
  await endAndReport(
    sessions,
    { message: args.message, graceSeconds, read, files: args, alsoTell: alsoIn },
    terminal,
  );
  if (pods.length === 0) return;
  // Who uses a pod from another login node is not known here, so it lasts as long as was promised.
  await withProgress(
    terminal,
    () => `waiting to end ${countText(pods.length, 'pod')}`,
    () => sleep(Math.max(0, grace - performance.now())),
  );
  await endPodsAndReport(pods, terminal);
}

/** sshd does not send what it has not read from the session when it is told to end. Milliseconds. */
export const messageMs = 1000;

interface EndAndReportOptions {
  readonly graceSeconds: number;
  readonly message?: string | undefined;
  /** With a mistake in ssh.yml, nobody is told, and what PAM's hook does not clean up is left for the reaper. */
  readonly read: SettingsRead;
  readonly files: SiteArguments;
  /** Sessions whose pods end then. */
  readonly alsoTell?: readonly Session[];
}

/**
 * Tells the sessions, ends them, and prints a line for each.
 *
 * @returns those that could not be ended
 */
export async function endAndReport(
  sessions: readonly Session[],
  { graceSeconds, message, read, files, alsoTell = [] }: EndAndReportOptions,
  terminal: Terminal,
): Promise<readonly Session[]> {
  const { endSessions } = await import('../../login/sessions/end-sessions.ts');
  const cleanUp = async (session: Session): Promise<readonly BerthError[]> =>
    read.error === undefined
      ? await reapApart(session.uid, files, terminal)
      : [
          new BerthError(
            read.error.code,
            `session ${session.id} of ${session.user} ended and is not cleaned up: ${read.error.message}`,
            {
              hint: `${read.error.hint} Then run \`berth reap\`.`,
            },
          ),
        ];
  const when = graceSeconds === 0 ? 'now' : `in ${durationText(graceSeconds)}`;
  let graceMs = graceSeconds * 1000;
  if (message !== undefined || graceSeconds > 0) {
    const text = `This session ends ${when}. ${message ?? ''}`.trim();
    if (read.settings !== undefined) {
      const told = await tellBySettings([...sessions, ...alsoTell], text, read.settings, {
        isEnd: graceSeconds === 0,
      });
      if (told > 0) graceMs = Math.max(graceMs, messageMs);
    } else terminal.stderr.write('warning: no session was told, because ssh.yml cannot be read\n');
  }
  let over = 0;
  const ended = await withProgress(
    terminal,
    () => `waiting for ${countText(sessions.length, 'session')} to end; ended: ${over}`,
    () => endSessions({ run: runDir }, sessions, { graceMs, cleanUp, onEnd: () => (over += 1) }),
  );
  for (const one of ended) report(one, terminal);
  return ended.flatMap(({ session, outcome }) => (outcome === 'failed' ? [session] : []));
}

/** Cleans up after a user in a process of its own, as `berth reap` does: the user may keep it for ever. */
async function reapApart(
  uid: number,
  files: SiteArguments,
  terminal: Terminal,
): Promise<readonly BerthError[]> {
  const { reapUsers } = await import('../../login/cleanup/reap-sessions.ts');
  const failed: BerthError[] = [];
  const start = await reapProcess(files, terminal);
  for await (const { reaped } of reapUsers({ run: runDir }, [uid], start))
    failed.push(...reaped.failed);
  return failed;
}

function report({ session, outcome, failed }: EndedSession, terminal: Terminal): void {
  if (outcome !== 'failed') {
    const did = outcome === 'ended' ? 'ended' : 'had already ended:';
    terminal.stdout.write(`${did} ${nameOf(session)}\n`);
  }
  for (const error of failed) terminal.stderr.write(errorText(error));
  // 75 whatever failed: the reaper tries again.
  if (failed.length > 0) terminal.finish(new BerthError('reap-incomplete', '').exitCode);
}

interface Chosen extends SessionsAndPods {
  /** Sessions of this node in these pods, which are not chosen themselves. */
  readonly alsoIn: readonly Session[];
  readonly read: SettingsRead;
}

async function chosen(args: EndArguments, terminal: Terminal): Promise<Chosen> {
  const { filterAll, findSessions } = await import('../../login/sessions/find-sessions.ts');
  const { sessionsIn } = await import('./pods.ts');
  const words = (args.session ?? []).map(String);
  if (args.all === words.length > 0)
    throw new BerthError('usage', 'give either sessions (IDs or users) or --all', {
      hint: 'For all of alice: `berth sessions end alice`. With filters: `berth sessions end --all --idle-over 8h`.',
    });
  const all = await readAll(args, words, terminal);
  const named = filterAll(args.all ? all : findSessions(all, words), filterOf(args));
  const found = args.all ? await withoutOwn(named, all.sessions, terminal) : named;
  const alsoIn = sessionsIn(all.sessions, found.pods).filter(
    (one) => !found.sessions.includes(one),
  );
  return { ...found, alsoIn, read: all.read };
}

/** Without the session that this command runs in, and its pod. */
async function withoutOwn(
  { sessions, pods }: SessionsAndPods,
  all: readonly Session[],
  terminal: Terminal,
): Promise<SessionsAndPods> {
  const { ownSession } = await import('../../login/sessions/find-sessions.ts');
  const { isInPod } = await import('../../sessions/backends/pod/list-cluster-pods.ts');
  const own = ownSession(all);
  if (own === undefined) return { sessions, pods };
  terminal.stderr.write(`left alone: ${nameOf(own)}, your own session\n`);
  return {
    sessions: sessions.filter((one) => one !== own),
    pods: pods.filter((pod) => !isInPod(own, pod)),
  };
}

function nameOf({ id, user }: Session): string {
  return `${id} of ${escapedForTerminal(user)}`;
}

/**
 * Writes a line to the terminals of these sessions whose profile does not say `notices: false`.
 *
 * @param isEnd whether they end now, and those without a terminal are told, too
 * @returns how many got it
 */
export async function tellBySettings(
  sessions: readonly Session[],
  text: string,
  settings: SshSettings,
  { isEnd }: { readonly isEnd: boolean },
): Promise<number> {
  const { withProfiles } = await import('../../login/sessions/session-profile.ts');
  const { tellSessionsTheirEnd } = await import('../../login/sessions/session-stderr.ts');
  const { tellSessions } = await import('../../login/sessions/session-terminal.ts');
  // Without a known profile, such as for a shell on the host, people are told.
  const known = (await withProfiles(sessions, settings)).filter(
    (one) => one.profile === undefined || settings.profiles.get(one.profile)?.notices !== false,
  );
  return isEnd ? tellSessionsTheirEnd(known, text) : tellSessions(known, text);
}
