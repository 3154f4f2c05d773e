import { spawnSync } from 'node:child_process';
import { BerthError } from '../errors.ts';
import { runProgram } from './run-program.ts';

/** What may depend on these names is not begun without them, nor waited for longer, in milliseconds. */
const decisionMs = 10_000;

/**
 * Names of all groups of a user, the primary one too, as NSS has them (id(1)); of whoever runs this
 * process where no name is given.
 *
 * @throws {BerthError} `group-names-missing` where one of the groups has no name, or NSS hangs: who
 *   gets what is not decided by half of the groups
 */
export function groupNamesOf(user?: string): string[] {
  const { status, stdout, stderr, error } = spawnSync(
    '/usr/bin/id',
    ['-Gn', '-z', '--', ...(user === undefined ? [] : [user])],
    { env: { PATH: '/usr/bin:/bin' }, encoding: 'utf8', timeout: decisionMs },
  );
  if (status === 0) return stdout.split('\0').filter((name) => name !== '');
  throw new BerthError('the names of your groups are not known at the moment', {
    code: 'group-names-missing',
    exit: 'temporary',
    hint: 'See `id USER`: does each group have a name, and does the directory service answer?',
    fields: { why: error?.message ?? stderr.trim() },
  });
}

/**
 * GIDs of all groups of a user, the primary one too, as NSS has them now: a connection keeps those of its
 * login.
 *
 * @returns Nothing where NSS does not answer.
 */
export async function groupsNow(user: string): Promise<readonly number[] | undefined> {
  const options = { env: {}, timeout: nameServiceMs };
  const { stdout } = await runProgram('/usr/bin/id', ['-G', '--', user], options);
  return /^[\d ]+$/.test(stdout.trim()) ? stdout.trim().split(' ').map(Number) : undefined;
}

/** Names are a comfort: a directory service that hangs costs so many milliseconds at most. */
const nameServiceMs = 2_000;

/** Names of these GIDs, as far as NSS knows them. */
export async function namesOfGroups(gids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  const lines = await groupLines([...new Set(gids)]);
  return new Map(
    lines.map((line) => {
      const [name = '', , gid] = line.split(':');
      return [Number(gid), name];
    }),
  );
}

/**
 * Lines of group(5) for these GIDs, without members: who is one, the kernel knows. A GID that NSS does
 * not know has none.
 */
export async function groupLines(gids: readonly number[]): Promise<string[]> {
  if (gids.length === 0) return [];
  const options = { env: {}, timeout: nameServiceMs };
  // It fails where one of them has no name, and prints the others.
  const { stdout } = await runProgram('/usr/bin/getent', ['group', ...gids.map(String)], options);
  return stdout.split('\n').flatMap((line) => {
    const [name, , id] = line.split(':');
    return name === undefined || id === undefined ? [] : [`${name}:x:${id}:`];
  });
}
