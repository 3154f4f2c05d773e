import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { BerthError } from '../errors/berth-error.ts';
import { assertRoot } from '../as-user.ts';
import { statusField } from '../proc-status.ts';

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
 * Looks up an account and its groups in NSS (files, LDAP, sssd).
 *
 * It does not start a process: glibc's functions are called through `seteuid(name)` (getpwnam), `os.userInfo()` (getpwuid of
 * the effective user) and `initgroups`. The process has the user's UID for some microseconds, so call it inside `asRoot` if
 * file operations of root may be in progress. It blocks if the directory service hangs, as nginx_stage has done just before.
 *
 * A process that is not root can only look up its own account.
 *
 * @throws {BerthError} `user-name-invalid`, `user-unknown`, `user-name-not-canonical`, `uid-below-minimum`,
 *   `nss-failed`, `not-root`
 */
export function lookupUser(name: string, limits: { readonly minimumUid: number }): User {
  checkUserName(name);
  return atLeast(limits, process.getuid?.() === 0 ? accountAsRoot(name) : ownAccount(name));
}

/**
 * The account that this process runs as, with one lookup in NSS.
 *
 * @throws {BerthError} `user-name-invalid`, `uid-below-minimum`, `nss-failed`
 */
export function currentUser(limits: { readonly minimumUid: number }): User {
  const user = { ...passwdEntry(), groups: ascending(process.getgroups?.() ?? []) };
  checkUserName(user.name);
  return atLeast(limits, user);
}

function atLeast(limits: { readonly minimumUid: number }, user: User): User {
  const { name } = user;
  if (user.uid < limits.minimumUid) {
    throw new BerthError(
      'uid-below-minimum',
      `user ${name} has UID ${user.uid}, the lowest allowed is ${limits.minimumUid}`,
      { fields: { user: name, uid: user.uid } },
    );
  }
  return user;
}

/**
 * Refuses names that nginx_stage refuses (`[\w@.-]+`), and those that could be read as an option or a path. It does not look
 * anything up, so invalid names do not reach a directory service.
 *
 * @throws {BerthError} `user-name-invalid`
 */
export function checkUserName(name: string): void {
  const reason = faultOfName(name);
  if (reason === undefined) return;
  throw new BerthError(
    'user-name-invalid',
    `invalid user name: ${JSON.stringify(name.slice(0, 64))} ${reason}`,
  );
}

function faultOfName(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (name.length > longestName) return `is longer than ${longestName} characters`;
  if (!/^[\w@.-]+$/.test(name))
    return 'contains characters other than letters, digits, `_`, `@`, `.` and `-`';
  if (name.startsWith('-')) return 'begins with `-`';
  if (name === '.' || name.includes('..')) return 'contains `..` or is `.`';
  return undefined;
}

function accountAsRoot(name: string): User {
  // During a section for a user, that user's groups would be restored afterwards.
  assertRoot();
  const before = process.getgroups?.() ?? [];
  try {
    // A string is always a name, even `1000`: Node passes it to getpwnam.
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
 * The kernel's list. `process.getgroups()` adds the effective GID, and root's GID 0 must not become a group of the user.
 */
function supplementaryGroups(): number[] {
  const groups = statusField(readFileSync('/proc/self/status', 'latin1'), 'Groups') ?? '';
  return groups.trim().split(/\s+/).filter(Boolean).map(Number);
}

function becomeByName(name: string): void {
  try {
    process.seteuid?.(name);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ERR_UNKNOWN_CREDENTIAL')) {
      throw cause;
    }
    throw new BerthError('user-unknown', `there is no user ${name}`, {
      fields: { user: name },
      cause,
    });
  }
}

function ownAccount(name: string): User {
  const entry = passwdEntry();
  if (entry.name !== name) {
    throw new BerthError('not-root', `${entry.name} cannot look up user ${name}`, {
      hint: 'Run it as root, or for your own account.',
      fields: { user: name },
    });
  }
  return { ...entry, groups: ascending(process.getgroups?.() ?? []) };
}

/** getpwuid of the effective user, whose name must be the wanted one. */
function passwdEntry(wanted?: string): Omit<User, 'groups'> {
  let info;
  try {
    info = userInfo();
  } catch (cause) {
    throw new BerthError('nss-failed', `NSS has no account for UID ${process.geteuid?.() ?? ''}`, {
      cause,
    });
  }
  if (wanted !== undefined && info.username !== wanted) {
    throw new BerthError(
      'user-name-not-canonical',
      `NSS returned the account ${info.username} for the user ${wanted}`,
      {
        fields: { user: wanted, uid: info.uid },
      },
    );
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

/** An account from NSS: local, LDAP or sssd. */
export interface User {
  readonly name: string;
  readonly uid: number;
  /** The primary group. */
  readonly gid: number;
  /** GIDs of all groups of the user, including the primary one, ascending. */
  readonly groups: readonly number[];
  readonly home: string;
  readonly shell: string;
}

/**
 * Looks up the account with this UID in NSS. Only for root.
 *
 * @returns undefined if there is none; this cannot be told from a directory service that is down
 * @throws {BerthError} as `lookupUser`
 */
export function userOfUid(uid: number): User | undefined {
  const name = nameOf(uid);
  if (name === undefined) return undefined;
  const user = lookupUser(name, { minimumUid: 1 });
  return user.uid === uid ? user : undefined;
}

/** getpwuid of the effective user: the process has that UID for some microseconds. */
function nameOf(uid: number): string | undefined {
  process.seteuid?.(uid);
  try {
    return userInfo().username;
  } catch {
    return undefined;
  } finally {
    process.seteuid?.(0);
  }
}
