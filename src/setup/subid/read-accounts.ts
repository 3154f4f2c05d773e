import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BerthError } from '../../system/errors/berth-error.ts';
import { checkUserName } from '../../system/identity/nss.ts';
import { readDirectoryIds } from './read-directory-ids.ts';
import type { DirectoryIds, ReservedIds } from './rules/directory-ids.ts';
import {
  type KnownId,
  type SubordinateFileName,
  type SubordinateLayout,
  type SubordinateUser,
} from './rules/subordinate-input.ts';
import { directoryServices, getent, unlistedServices } from '../../system/getent.ts';

export interface SubidAccountQuery {
  /** Login names, or lines of passwd(5), which need no lookup; absent: every account. */
  readonly wanted?: readonly string[];
  readonly layout: SubordinateLayout;
  /** Whether to look up supplementary groups too. */
  readonly groups: boolean;
  /** IDs that the site reserves: then no others are asked for. */
  readonly reserved?: readonly ReservedIds[];
  /** Another root directory, whose etc/passwd and etc/group are read instead of asking NSS. */
  readonly prefix?: string;
}

export interface Accounts {
  readonly users: readonly SubordinateUser[];
  readonly real: Readonly<Record<SubordinateFileName, readonly KnownId[]>>;
  readonly directory: DirectoryIds;
  /** Accounts that cannot have a line, with the reason. */
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
}

/** The kernel's overflow UID, `nobody`. */
const nobody = 65_534;

/**
 * The users who should have subordinate IDs, all accounts and groups that NSS enumerates, and the IDs that others may have. LDAP is usually not
 * enumerated (sssd's `enumerate`): then the users have to be named. An account that was not named counts
 * only if it has a login shell.
 *
 * @throws {BerthError} `user-unknown`, `user-name-invalid`, `nss-failed`, and the errors of `readDirectoryIds`
 */
export async function readAccounts(query: SubidAccountQuery): Promise<Accounts> {
  const { wanted, layout } = query;
  const nss = query.prefix === undefined ? getent : nssOfFiles(query.prefix);
  const [passwd, group] = await Promise.all([nss('passwd'), nss('group')]);
  const everybody = passwd.map(passwdEntry).filter((entry) => entry !== undefined);
  const chosen = wanted === undefined ? everybody : await named(wanted, nss);
  const skipped: { name: string; reason: string }[] = [];
  const users = chosen.filter(({ name, uid, shell }) => {
    // Packages create accounts above the UIDs of users too (Debian Policy 9.2.2), with nologin(8) or false(1).
    if (wanted === undefined && /\/(?:nologin|false)$/.test(shell)) return false;
    const reason = reasonToSkip(name, uid, layout.firstUid);
    // Others below the first UID, such as system accounts, are only reported if they were named.
    if (reason !== undefined && (wanted !== undefined || reason === unusableName))
      skipped.push({ name, reason });
    return reason === undefined;
  });
  return {
    users: query.groups ? await withGroups(users, wanted !== undefined, group, nss) : users,
    real: {
      subuid: everybody.map(({ name, uid }) => ({ id: uid, name: `user ${name}` })),
      subgid: group
        .map(groupEntry)
        .filter((entry) => entry !== undefined)
        .map(({ name, gid }) => ({ id: gid, name: `group ${name}` })),
    },
    directory: await directoryIds(query, passwd, everybody),
    skipped,
  };
}

async function directoryIds(
  { prefix, reserved }: SubidAccountQuery,
  passwd: readonly string[],
  everybody: readonly PasswdEntry[],
): Promise<DirectoryIds> {
  const services = await directoryServices('passwd', prefix);
  const found = readDirectoryIds({
    prefix,
    services,
    // Of files in a directory nobody can be asked.
    silent: prefix === undefined ? await unlistedServices('passwd', passwd) : services,
    sssdUid: everybody.find(({ name }) => name === 'sssd')?.uid,
  });
  if (reserved === undefined) return found;
  return { reserved: [...found.reserved, ...reserved], unlisted: [] };
}

const unusableName = 'its name has characters other than letters, digits, `_`, `@`, `.` and `-`';

function reasonToSkip(name: string, uid: number, firstUid: number): string | undefined {
  if (uid < firstUid) return `UID ${uid} is below ${firstUid}`;
  if (uid === nobody) return 'it is the UID of nobody';
  try {
    checkUserName(name);
    return undefined;
  } catch {
    return unusableName;
  }
}

/** Reads lines of a database: those of the keys, or all that are enumerated. */
type Nss = (
  database: 'passwd' | 'group' | 'initgroups',
  keys?: readonly string[],
) => Promise<string[]>;

async function named(wanted: readonly string[], nss: Nss): Promise<PasswdEntry[]> {
  const names = wanted.filter((text) => !text.includes(':'));
  for (const name of names) checkUserName(name);
  const found = new Map<string, PasswdEntry>();
  for (const line of [
    ...wanted.filter((text) => text.includes(':')),
    ...(await nss('passwd', names)),
  ]) {
    const entry = passwdEntry(line);
    if (entry === undefined)
      throw new BerthError(
        'usage',
        `not a line of passwd(5): ${JSON.stringify(line.slice(0, 80))}`,
        {
          hint: 'Give one login name per line, or lines as `getent passwd` prints them.',
        },
      );
    found.set(entry.name, entry);
  }
  const unknown = names.filter((name) => !found.has(name));
  if (unknown.length > 0) throw unknownUsers(unknown);
  return [...found.values()];
}

interface PasswdEntry {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly shell: string;
}

function passwdEntry(line: string): PasswdEntry | undefined {
  const [name = '', , uid = '', gid = '', , , shell = ''] = line.split(':');
  return name !== '' && isId(uid) && isId(gid)
    ? { name, uid: Number(uid), gid: Number(gid), shell }
    : undefined;
}

function groupEntry(line: string): { name: string; gid: number; members: string[] } | undefined {
  const [name = '', , gid = '', members = ''] = line.split(':');
  if (name === '' || !isId(gid)) return undefined;
  return { name, gid: Number(gid), members: members.split(',').filter((member) => member !== '') };
}

function isId(text: string): boolean {
  return /^\d{1,10}$/.test(text) && Number(text) < 0xffff_ffff;
}

/** Group members from the enumeration; for users that were named, the groups that NSS has for each. */
async function withGroups(
  users: readonly PasswdEntry[],
  wereNamed: boolean,
  group: readonly string[],
  nss: Nss,
): Promise<SubordinateUser[]> {
  const groups = new Map<string, number[]>(users.map(({ name }) => [name, []]));
  if (wereNamed) {
    for (const line of await nss('initgroups', [...groups.keys()])) {
      const [name = '', ...gids] = line.trim().split(/\s+/);
      groups.get(name)?.push(...gids.map(Number));
    }
  } else {
    for (const entry of group.map(groupEntry))
      for (const member of entry?.members ?? []) groups.get(member)?.push(entry?.gid ?? 0);
  }
  return users.map((user) => ({ ...user, groups: groups.get(user.name) ?? [] }));
}

function nssOfFiles(prefix: string): Nss {
  const read = async (name: string): Promise<string[]> =>
    (await readFile(join(prefix, 'etc', name), 'utf8')).split('\n').filter((line) => line !== '');
  return async (database, keys) => {
    const wanted = new Set(keys);
    if (database !== 'initgroups') {
      const lines = await read(database);
      return keys === undefined
        ? lines
        : lines.filter((line) => wanted.has(line.split(':')[0] ?? ''));
    }
    return (await read('group')).flatMap((line) => {
      const entry = groupEntry(line);
      return (entry?.members ?? []).map((member) => `${member} ${entry?.gid ?? 0}`);
    });
  };
}

function unknownUsers(names: readonly string[]): BerthError {
  const some = names.slice(0, 5).join(', ') + (names.length > 5 ? ', …' : '');
  return new BerthError(
    'user-unknown',
    names.length === 1 ? `there is no user ${some}` : `${names.length} users do not exist: ${some}`,
  );
}
