import { runDir } from '../../config/schema/default-settings.ts';
import type { SshSettings } from '../../config/schema/profile/profile.ts';
import { countText } from '../../system/text/count-text.ts';
import { asBerthError } from '../../system/errors/berth-error.ts';
import type { SessionFilter, SessionsAndPods } from '../../login/sessions/find-sessions.ts';
import type { Session } from '../../login/sessions/list-sessions.ts';
import { assertRoot } from '../../system/as-user.ts';
import { type ArgumentsOf, flag, list, text, words } from '../kit/options.ts';
import {
  type SettingsRead,
  type SiteArguments,
  readSessionSettings,
  configDirOption,
} from '../kit/site-options.ts';
import { type Terminal, errorText } from '../kit/terminal.ts';
import { withProgress } from '../kit/progress.ts';
import { parseSeconds } from '../kit/parse-seconds.ts';

/** Which hosts are asked. */
export const scopeOptions = {
  'all-nodes': flag('Also the pods of sessions of all login nodes, from the clusters', {
    alias: 'A',
  }),
  ...configDirOption,
};

/** Of all subcommands that select sessions. */
export const filterOptions = {
  user: list('user', 'Only sessions of these users'),
  profile: list('profile', 'Only sessions with these profiles'),
  from: list('ADDRESS', 'Only from these addresses or networks (192.0.2.0/24)'),
  'idle-over': text(
    'TIME',
    'Only sessions at whose terminals nothing was typed for longer, such as 2h',
  ),
};

type FilterArguments = Partial<ArgumentsOf<typeof filterOptions>>;
type ScopeArguments = Pick<ArgumentsOf<typeof scopeOptions>, 'all-nodes'> & SiteArguments;

export function filterOf(args: FilterArguments): SessionFilter {
  const idle = args['idle-over'];
  const bounds = { least: '1s', most: '365d' };
  return {
    users: args.user,
    profiles: args.profile,
    from: args.from,
    ...(idle !== undefined && { idleOverSeconds: parseSeconds(idle, 'idle-over', bounds) }),
  };
}

/** The words that name sessions. */
export const sessionWords = words(
  'user',
  'ID of a session, its first part (the PID of sshd), a user, or a pod: NAMESPACE/NAME',
);

interface AllFound extends SessionsAndPods {
  readonly areAllAsked: boolean;
  /** With a mistake in it, which was reported, profiles and the addresses of clients behind a balancer are not known. */
  readonly read: SettingsRead;
}

/** The sessions of this node, and with `--all-nodes`, or if a word is a pod's name, the pods of all. @throws {BerthError} `not-root` */
export async function readAll(
  args: ScopeArguments & FilterArguments,
  words: readonly string[],
  terminal: Terminal,
): Promise<AllFound> {
  assertRoot('only root sees the sessions of this node');
  const read = await readSessionSettings(args);
  if (read.error !== undefined) terminal.stderr.write(errorText(read.error));
  const sessions = await readSessions(terminal, read.settings);
  const areAllAsked = args['all-nodes'] || words.some((word) => word.includes('/'));
  if (!areAllAsked) return { sessions, pods: [], areAllAsked, read };
  terminal.stderr.write(podsLeftOutText(args));
  const { readPods } = await import('./pods.ts');
  return { sessions, pods: await readPods(terminal), areAllAsked, read };
}

/** The sessions of this node, for counting and ending: without profiles and the addresses of clients. @throws {BerthError} `not-root` */
export async function openSessions({ program }: Terminal): Promise<readonly Session[]> {
  assertRoot('only root sees the sessions of this node');
  const { listSessions } = await import('../../login/sessions/list-sessions.ts');
  return listSessions({
    run: runDir,
    now: Date.now,
    balancerLog: () => '',
    warn: () => undefined,
    program,
  });
}

/** @param settings for the profiles, for which sshd is started once for each user, and the balancer's log */
async function readSessions(
  terminal: Terminal,
  settings: SshSettings | undefined,
): Promise<readonly Session[]> {
  const { listSessions } = await import('../../login/sessions/list-sessions.ts');
  const { hasBalancerLines, readBalancerLog } =
    await import('../../sessions/connections/balancer-log.ts');
  const balancerLog = (): string => {
    try {
      const path = settings?.balancerLog;
      const text = path === undefined ? '' : readBalancerLog(path, longestLog);
      if (text !== '' && !hasBalancerLines(text)) terminal.stderr.write(unknownLines(path));
      return text;
    } catch (error) {
      terminal.stderr.write(errorText(asBerthError(error, "reading the balancer's log")));
      return '';
    }
  };
  const sessions = await listSessions({
    run: runDir,
    now: terminal.now,
    balancerLog,
    warn: (text) => terminal.stderr.write(text),
    program: terminal.program,
  });
  if (settings === undefined || sessions.length === 0) return sessions;
  const { withProfiles } = await import('../../login/sessions/session-profile.ts');
  return await withProgress(
    terminal,
    () => `asking sshd for the profiles of ${countText(sessions.length, 'session')}`,
    () => withProfiles(sessions, settings),
  );
}

const unknownLines = (path = ''): string =>
  `warning: no line of ${path} has a form that Berth knows, so FROM may be the address of a balancer\n` +
  'next: use the log-format of `berth render balancer`, and a syslog template with RFC 3339 or traditional times\n';

/** On standard error, as kubectl says it: an empty list is not an error. */
export function nothingFoundText(
  args: FilterArguments & ScopeArguments,
  what: 'list' | 'end',
): string {
  const { user, profile, from, 'idle-over': idle, 'all-nodes': all } = args;
  const isFiltered = [user, profile, from, idle].some((value) => value !== undefined);
  const none = all ? 'no session on this node and no pod' : 'no session';
  if (isFiltered) return `${none} matches the filters\n`;
  if (what === 'end') return `there is ${none} to end\n`;
  return all ? `${none} of a session is open\n` : `${none} is open\n`;
}

/** For who asks for the pods, too. '' if nothing is left out. */
export function podsLeftOutText({ from, 'idle-over': idle }: FilterArguments): string {
  const given = [
    ...(from === undefined ? [] : ['--from']),
    ...(idle === undefined ? [] : ['--idle-over']),
  ];
  if (given.length === 0) return '';
  const select = given.length === 1 ? 'selects' : 'select';
  return `${given.join(' and ')} ${select} no pods: only the login nodes know where users come from and when they last typed\n`;
}

/** Bytes of the balancer's log: about the last 35,000 connections. */
const longestLog = 8 * 1024 * 1024;
