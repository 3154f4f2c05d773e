import { randomUUID } from 'node:crypto';
import { appendFile, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { homesDirectory, siteDirectory } from './directories.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';

/** An account of passwd(5). */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

interface PasswdEntry extends Account {
  readonly gecos: string;
}

/** The GECOS field that marks the tests' accounts, which alone may be changed and removed. */
export const testAccountComment = 'berth test account';

/** The file with the names of the groups that the tests created, one per line. */
const groupsFile = `${siteDirectory}.groups`;

const shell = '/bin/bash';

/** The home of a test account. */
export function homeOf(name: string): string {
  return join(homesDirectory, name);
}

/** A command line that runs as this account with its groups; without an account, the command unchanged. */
export function commandAs(
  account: string | undefined,
  command: string,
  args: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
  if (account === undefined) return { command, args };
  return { command: 'runuser', args: ['--user', account, '--', command, ...args] };
}

/**
 * Creates a Linux account with an empty home of mode 0700, if it does not exist. Names that useradd(8)
 * rejects by default, such as `a.b` or `a@b`, are allowed.
 *
 * @param options.groups all its supplementary groups; created if they do not exist
 * @throws Error if an account of this name exists that is not a test account
 */
export async function ensureAccount(
  name: string,
  { groups = [] }: { groups?: readonly string[] } = {},
): Promise<Account> {
  return locked(async () => {
    await ensureGroups(groups);
    const existing = (await passwd()).find((entry) => entry.name === name);
    if (existing === undefined) {
      await removeFormerHomes([name]);
      await execa('useradd', [
        ...['--badname', '--create-home', '--home-dir', homeOf(name), '--key', 'HOME_MODE=0700'],
        ...[
          '--comment',
          testAccountComment,
          '--shell',
          shell,
          '--groups',
          groups.join(','),
          '--',
          name,
        ],
      ]);
    } else {
      assertOurs(existing);
      await execa('usermod', ['--groups', groups.join(','), '--', name]);
    }
    return accountOf(name);
  });
}

/**
 * Creates many accounts with one run of newusers(8), for load tests; existing ones are kept.
 *
 * @throws Error if one of the names belongs to an account that is not a test account
 */
export async function ensureAccounts(names: readonly string[]): Promise<readonly Account[]> {
  return locked(async () => {
    const existing = new Map((await passwd()).map((entry) => [entry.name, entry]));
    for (const name of names) {
      const entry = existing.get(name);
      if (entry !== undefined) assertOurs(entry);
    }
    const missing = names.filter((name) => !existing.has(name));
    // newusers(8) requires a password: a random one that is not kept.
    const lines = missing.map((name) =>
      [name, randomUUID(), '', '', testAccountComment, homeOf(name), shell].join(':'),
    );
    if (missing.length > 0) {
      await removeFormerHomes(missing);
      await execa('newusers', ['--badname'], { input: `${lines.join('\n')}\n` });
      await execa('chmod', ['0700', ...missing.map(homeOf)]);
    }
    const entries = new Map((await passwd()).map((entry) => [entry.name, entry]));
    return names.map((name) => entries.get(name) ?? notMade(name));
  });
}

/** @throws Error if one of the names belongs to an account that is not a test account */
export async function assertOursOrAbsent(names: readonly string[]): Promise<void> {
  for (const entry of await passwd()) if (names.includes(entry.name)) assertOurs(entry);
}

/** Removes all test accounts with their homes, and the groups that were created for them. */
export async function removeAccounts(): Promise<void> {
  if (process.getuid?.() !== 0) return;
  await locked(async () => {
    const ours = (await passwd()).filter(isOurs);
    if (ours.length > 0) await step(`removing ${ours.length} test accounts`, () => remove(ours));
    for (const group of await groupsOfOurs()) await execa('groupdel', [group], { reject: false });
    await rm(groupsFile, { force: true });
  });
}

/** Removes homes left by accounts of the same names in another /etc, with other UIDs. */
async function removeFormerHomes(names: readonly string[]): Promise<void> {
  for (const name of names) await rm(homeOf(name), { recursive: true, force: true });
}

async function remove(accounts: readonly Account[]): Promise<void> {
  for (const { name } of accounts) {
    await execa('userdel', ['--force', '--remove', '--', name], { reject: false });
  }
}

/** group(5) has no comment field that could mark the tests' groups, so their names are kept in a file. */
async function ensureGroups(names: readonly string[]): Promise<void> {
  for (const name of names) {
    const { exitCode } = await execa('groupadd', ['--', name], { reject: false });
    // groupadd(8): exit code 9 means that the group exists.
    if (exitCode === 0) await appendFile(groupsFile, `${name}\n`);
    else if (exitCode !== 9)
      throw new Error(`groupadd ${name} exited with ${exitCode ?? 'a signal'}`);
  }
}

async function groupsOfOurs(): Promise<readonly string[]> {
  const text = await readFile(groupsFile, 'utf8').catch(() => '');
  return text.split('\n').filter((name) => name !== '');
}

async function accountOf(name: string): Promise<Account> {
  return (await passwd()).find((entry) => entry.name === name) ?? notMade(name);
}

async function passwd(): Promise<readonly PasswdEntry[]> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const [name = '', , uid, gid, comment = '', home = ''] = line.split(':');
    return { name, uid: Number(uid), gid: Number(gid), gecos: comment, home };
  });
}

/** Accounts of another test site on this machine have their homes elsewhere, and are not ours. */
function isOurs(entry: PasswdEntry): boolean {
  return entry.gecos === testAccountComment && entry.home === homeOf(entry.name);
}

function assertOurs(entry: PasswdEntry): void {
  if (isOurs(entry)) return;
  throw new Error(
    `the account ${entry.name} exists and is not a test account of this site; next: run this on a machine without that account, such as a VM`,
  );
}

function notMade(name: string): never {
  throw new Error(`${name} is not in /etc/passwd after it was created`);
}

/** useradd(8) and its relatives fail if another of them is running, so they run one at a time. */
function locked<T>(work: () => Promise<T>): Promise<T> {
  return withLock('/run/lock/berth-test-accounts.lock', () => undefined, work);
}
