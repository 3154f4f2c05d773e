import { BerthError } from './errors/berth-error.ts';
import { runProgram, runProgramSync } from './run-program.ts';

/** Time limit, in milliseconds. A decision that depends on the names is not made without them. */
const decisionMs = 10_000;

/**
 * Names of all groups of a user, including the primary one, from NSS (id(1)).
 *
 * @param user the user of this process if absent
 * @throws {BerthError} `group-names-missing` if a group has no name or NSS hangs: a profile is not chosen with only some
 *   of the groups
 */
export function groupNamesOf(user?: string): string[] {
  const { status, stdout, stderr, error } = runProgramSync(
    '/usr/bin/id',
    ['-Gn', '-z', '--', ...(user === undefined ? [] : [user])],
    { timeoutMs: decisionMs },
  );
  if (status === 0) return stdout.split('\0').filter((name) => name !== '');
  throw new BerthError('group-names-missing', 'the names of your groups could not be looked up', {
    fields: { why: error?.message ?? stderr.trim() },
  });
}

/**
 * GIDs of all groups of a user, including the primary one, that NSS has now. The processes of a connection keep those of
 * its login.
 *
 * @returns undefined if NSS does not respond
 */
export async function currentGroupIds(user: string): Promise<readonly number[] | undefined> {
  const { stdout } = await runProgram('/usr/bin/id', ['-G', '--', user], {
    timeoutMs: nameServiceMs,
  });
  return /^[\d ]+$/.test(stdout.trim()) ? stdout.trim().split(' ').map(Number) : undefined;
}

/** Time limit for names that are only displayed. Milliseconds. */
const nameServiceMs = 2_000;

/** Names of these GIDs, without those that NSS does not know. */
export async function groupNamesById(
  gids: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const lines = await groupEntries([...new Set(gids)]);
  return new Map(
    lines.map((line) => {
      const [name = '', , gid] = line.split(':');
      return [Number(gid), name];
    }),
  );
}

/**
 * Lines of group(5) for these GIDs, without members, which are not needed. There is no line for a GID that NSS does not
 * know.
 */
export async function groupEntries(gids: readonly number[]): Promise<string[]> {
  if (gids.length === 0) return [];
  // It fails if one of them has no name, but prints the others.
  const { stdout } = await runProgram('/usr/bin/getent', ['group', ...gids.map(String)], {
    timeoutMs: nameServiceMs,
  });
  return stdout.split('\n').flatMap((line) => {
    const [name, , id] = line.split(':');
    return name === undefined || id === undefined ? [] : [`${name}:x:${id}:`];
  });
}
