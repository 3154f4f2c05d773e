import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { BerthError } from '../errors.ts';
import { assertRoot } from '../system/as-user.ts';
import type { User } from './user.ts';

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- how @types/node declares it
  namespace NodeJS {
    interface Process {
      /** Missing in @types/node; glibc's initgroups(3). */
      initgroups(user: string, extraGroup: number): void;
    }
  }
}

/** LOGIN_NAME_MAX of Linux, without the closing NUL. */
const longestName = 255;

/**
 * The account of that name as NSS has it (files, LDAP, sssd), its groups included.
 *
 * No child is started: glibc's own calls are reached through `seteuid(name)` (getpwnam),
 * `os.userInfo()` (getpwuid of the effective user) and `initgroups`. The process is the user for
 * some microseconds, so call it inside `asRoot` wherever file work of root may be under way. NSS
 * blocks: a directory service that hangs is waited for, as nginx_stage did just before.
 *
 * Without root only one's own account can be looked up.
 *
 * @throws `user-name-invalid`, `user-unknown`, `user-name-not-canonical`, `uid-below-minimum`,
 *   `nss-failed`, `not-root`
 */
export function lookupUser(name: string, limits: { readonly minimumUid: number }): User {
  checkUserName(name);
  return atLeast(limits, process.getuid?.() === 0 ? accountAsRoot(name) : ownAccount(name));
}

/**
 * The account that this process runs as; NSS is asked once.
 *
 * @throws `user-name-invalid`, `uid-below-minimum`, `nss-failed`
 */
export function ownUser(limits: { readonly minimumUid: number }): User {
  const user = { ...passwdEntry(), groups: ascending(process.getgroups?.() ?? []) };
  checkUserName(user.name);
  return atLeast(limits, user);
}

function atLeast(limits: { readonly minimumUid: number }, user: User): User {
  const { name } = user;
  if (user.uid < limits.minimumUid) {
    throw new BerthError(
      `user ${name} has UID ${user.uid}, the lowest allowed is ${limits.minimumUid}`,
      {
        code: 'uid-below-minimum',
        exit: 'permission',
        hint: 'System accounts get no namespace; lower the minimum UID in berth.yml if this is a person.',
        fields: { user: name, uid: user.uid },
      },
    );
  }
  return user;
}

/**
 * Refuses what nginx_stage refuses (`[\w@.-]+`), and what could be read as an option or a path.
 * No lookup is made, so nothing odd reaches a directory service.
 *
 * @throws `user-name-invalid`
 */
export function checkUserName(name: string): void {
  const reason = faultOfName(name);
  if (reason === undefined) return;
  throw new BerthError(`this is no user name: ${JSON.stringify(name.slice(0, 64))} ${reason}`, {
    code: 'user-name-invalid',
    exit: 'usage',
    hint: 'Give the login name as `getent passwd` prints it.',
  });
}

function faultOfName(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (name.length > longestName) return `is longer than ${longestName} characters`;
  if (!/^[\w@.-]+$/.test(name)) return 'holds more than letters, digits, `_`, `@`, `.` and `-`';
  if (name.startsWith('-')) return 'begins with `-`';
  if (name === '.' || name.includes('..')) return 'could be a path';
  return undefined;
}

function accountAsRoot(name: string): User {
  // In the middle of a section for a user, the way back would be to that user's groups.
  assertRoot();
  const before = process.getgroups?.() ?? [];
  try {
    // A string is always taken as a name, also `1000`: Node asks getpwnam and never parses it.
    becomeByName(name);
    const entry = passwdEntry(name);
    process.seteuid?.(0);
    process.initgroups(name, entry.gid);
    return { ...entry, groups: ascending(supplementaryGroups()) };
  } finally {
    process.seteuid?.(0);
    process.setgroups?.(before);
  }
}

/**
 * The kernel's own list: `process.getgroups()` adds the effective GID, and root's 0 must not become a
 * group of the user.
 */
function supplementaryGroups(): number[] {
  const groups = /^Groups:(.*)$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1] ?? '';
  return groups.trim().split(/\s+/).filter(Boolean).map(Number);
}

function becomeByName(name: string): void {
  try {
    process.seteuid?.(name);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ERR_UNKNOWN_CREDENTIAL')) {
      throw cause;
    }
    throw new BerthError(`there is no user ${name}`, {
      code: 'user-unknown',
      exit: 'nouser',
      hint: `Compare with \`getent passwd ${name}\`; a directory service that is down looks the same.`,
      fields: { user: name },
      cause,
    });
  }
}

function ownAccount(name: string): User {
  const entry = passwdEntry();
  if (entry.name !== name) {
    throw new BerthError(`user ${name} cannot be looked up by ${entry.name}`, {
      code: 'not-root',
      exit: 'permission',
      hint: 'Run it as root, or for yourself.',
      fields: { user: name },
    });
  }
  return { ...entry, groups: ascending(process.getgroups?.() ?? []) };
}

/** getpwuid of the effective user, which must carry the name that was asked for. */
function passwdEntry(wanted?: string): Omit<User, 'groups'> {
  let info;
  try {
    info = userInfo();
  } catch (cause) {
    throw new BerthError(`NSS has no account for UID ${process.geteuid?.() ?? ''}`, {
      code: 'nss-failed',
      exit: 'temporary',
      hint: 'See whether sssd or LDAP answers: `getent passwd`.',
      cause,
    });
  }
  if (wanted !== undefined && info.username !== wanted) {
    throw new BerthError(`user ${wanted} is called ${info.username} by NSS`, {
      code: 'user-name-not-canonical',
      exit: 'nouser',
      hint: "Map logins to the account's own name (OnDemand's user_map); no two accounts may share a UID.",
      fields: { user: wanted, uid: info.uid },
    });
  }
  return {
    name: info.username,
    uid: info.uid,
    gid: info.gid,
    home: info.homedir,
    shell: info.shell ?? '',
  };
}

function ascending(groups: readonly number[]): number[] {
  return [...new Set(groups)].sort((a, b) => a - b);
}
