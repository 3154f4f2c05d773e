import type { Argv } from 'yargs';
import { runDir } from '../config/default-settings.ts';
import type { SshSettings } from '../config/profile/profile.ts';
import { asBerthError, BerthError } from '../errors.ts';
import type { SessionFilter, SessionsAndPods } from '../ssh/sessions/find-sessions.ts';
import type { Session } from '../ssh/sessions/session.ts';
import { countText } from './count-text.ts';
import { parseSeconds } from './duration.ts';
import { withProgress } from './progress.ts';
import { errorText, type Terminal } from './terminal.ts';

export interface FilterArguments {
  readonly user?: readonly string[] | undefined;
  readonly profile?: readonly string[] | undefined;
  readonly from?: readonly string[] | undefined;
  readonly 'idle-over'?: string | undefined;
}

/** Which hosts are asked. */
export interface ScopeArguments {
  readonly 'all-nodes': boolean;
}

export const allNodesOption = {
  alias: 'A',
  type: 'boolean',
  default: false,
  describe: 'Also the pods of sessions of all login nodes, from the clusters',
} as const;

/** Options of all subcommands that select sessions. */
export function filterOptions<T>(yargs: Argv<T>): Argv<T & FilterArguments> {
  const list = { type: 'string', array: true, requiresArg: true } as const;
  return yargs
    .option('user', { ...list, describe: 'Only sessions of these users' })
    .option('profile', { ...list, describe: 'Only sessions with these profiles' })
    .option('from', { ...list, describe: 'Only from these addresses or networks (192.0.2.0/24)' })
    .option('idle-over', {
      type: 'string',
      requiresArg: true,
      describe: 'Only sessions at whose terminals nothing was typed for longer, such as 2h',
    });
}

export function filterOf(args: FilterArguments): SessionFilter {
  const idle = args['idle-over'];
  const bounds = { least: '1s', most: '365d' };
  return {
    ...(args.user === undefined ? {} : { users: args.user }),
    ...(args.profile === undefined ? {} : { profiles: args.profile }),
    ...(args.from === undefined ? {} : { from: args.from }),
    ...(idle === undefined ? {} : { idleOverSeconds: parseSeconds(idle, 'idle-over', bounds) }),
  };
}

/** The words that name sessions. */
export const sessionPositional = {
  type: 'string',
  array: true,
  describe: 'ID of a session, its first part (the PID of sshd), a user, or a pod: NAMESPACE/NAME',
} as const;

/** The sessions of this node, and with `--all-nodes`, or if a word is a pod's name, the pods of all. @throws as `readSessions` */
export async function readAll(
  { 'all-nodes': allNodes }: ScopeArguments,
  words: readonly string[],
  { terminal, config }: { readonly terminal: Terminal; readonly config?: string | undefined },
): Promise<SessionsAndPods & { readonly areAllAsked: boolean }> {
  const sessions = await readSessions(terminal, { config, profiles: true });
  const areAllAsked = allNodes || words.some((word) => word.includes('/'));
  if (!areAllAsked) return { sessions, pods: [], areAllAsked };
  const { readPods } = await import('./sessions-pods.ts');
  return { sessions, pods: await readPods(terminal), areAllAsked };
}

interface ReadOptions {
  readonly config?: string | undefined;
  /** Whether to look up the profiles, for which sshd is started once for each user. */
  readonly profiles: boolean;
}

/** @throws {BerthError} `not-root` */
export async function readSessions(
  terminal: Terminal,
  { config, profiles }: ReadOptions,
): Promise<readonly Session[]> {
  if (process.geteuid?.() !== 0) throw notRoot();
  const [{ listSessions }, { readBalancerLog }] = await Promise.all([
    import('../ssh/sessions/list-sessions.ts'),
    import('../ssh/connections/balancer-log.ts'),
  ]);
  const settings = await settingsOf(config, terminal);
  const balancerLog = (): string => {
    try {
      const path = settings?.balancerLog;
      return path === undefined ? '' : readBalancerLog(path, longestLog);
    } catch (error) {
      terminal.stderr.write(errorText(asBerthError(error, "reading the balancer's log")));
      return '';
    }
  };
  const onTooManySockets = (): void => {
    terminal.stderr.write(`${tooManySockets}\n`);
  };
  const sessions = listSessions({
    ...{ run: runDir, now: terminal.now, balancerLog, onTooManySockets },
  });
  if (!profiles || settings === undefined || sessions.length === 0) return sessions;
  const { withConfiguredProfiles } = await import('../ssh/sessions/configured-profile.ts');
  return await withProgress(
    terminal,
    () => `asking sshd for the profiles of ${countText(sessions.length, 'session')}`,
    () => withConfiguredProfiles(sessions, settings),
  );
}

const tooManySockets =
  'this host has too many TCP connections to look up those of sshd: FROM may be a balancer';

/** On standard error, as kubectl says it: an empty list is not an error. */
export function sayNothingFound(
  terminal: Terminal,
  { user, profile, from, 'idle-over': idle }: FilterArguments,
  unfiltered: string,
): void {
  const isFiltered = [user, profile, from, idle].some((value) => value !== undefined);
  terminal.stderr.write(`${isFiltered ? 'no session matches the filters' : unfiltered}\n`);
}

/** Bytes of the balancer's log: the last 40,000 connections. */
const longestLog = 8 * 1024 * 1024;

/** Sessions are listed, and can be ended, with a configuration that has a mistake, too. */
async function settingsOf(
  config: string | undefined,
  terminal: Terminal,
): Promise<SshSettings | undefined> {
  const { loadSshSettings } = await import('../settings/load-ssh-settings.ts');
  try {
    return await loadSshSettings({ configFile: config ?? '/etc/berth/ssh.yml' });
  } catch (error) {
    terminal.stderr.write(errorText(asBerthError(error, 'reading ssh.yml')));
    return undefined;
  }
}

function notRoot(): BerthError {
  return new BerthError('only root sees the sessions of this node', {
    code: 'not-root',
    hint: 'Run it with sudo. Users see their own processes with `ps` inside their session.',
  });
}
