import { randomUUID } from 'node:crypto';
import { appendFile, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { homesFolder, siteFolder } from './folders.ts';
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

/** By this GECOS field we know the accounts that are ours to change and to remove. */
const gecos = 'berth test account';

/** Names of the groups that we made, one per line. */
const groupsFile = `${siteFolder}.groups`;

const shell = '/bin/bash';

/** The home that an account of ours has. */
export function homeOf(name: string): string {
  return join(homesFolder, name);
}

/** A command line that runs as this account with its groups; as ourselves without an account. */
export function commandAs(
  account: string | undefined,
  command: string,
  args: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
  if (account === undefined) return { command, args };
  return { command: 'runuser', args: ['--user', account, '--', command, ...args] };
}

/**
 * A real Linux account, made when it is not there, with an empty home of mode 0700. The name may be
 * one that useradd(8) would call bad, such as `a.b` or `a@b`.
 *
 * @param options.groups all its supplementary groups; made when they are not there
 * @throws Error when somebody else's account has this name
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
        ...['--comment', gecos, '--shell', shell, '--groups', groups.join(','), '--', name],
      ]);
    } else {
      assertOurs(existing);
      await execa('usermod', ['--groups', groups.join(','), '--', name]);
    }
    return accountOf(name);
  });
}

/**
 * Many accounts at once, for load tests: one run of newusers(8) for all that are not there.
 *
 * @throws Error when somebody else's account has one of the names
 */
export async function ensureAccounts(names: readonly string[]): Promise<readonly Account[]> {
  return locked(async () => {
    const existing = new Map((await passwd()).map((entry) => [entry.name, entry]));
    for (const name of names) {
      const entry = existing.get(name);
      if (entry !== undefined) assertOurs(entry);
    }
    const missing = names.filter((name) => !existing.has(name));
    // newusers(8) hashes whatever it gets as a password: nobody shall know this one.
    const lines = missing.map((name) =>
      [name, randomUUID(), '', '', gecos, homeOf(name), shell].join(':'),
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

/** Removes all accounts of ours with their homes, and the groups that were made for them. */
export async function removeAccounts(): Promise<void> {
  if (process.getuid?.() !== 0) return;
  await locked(async () => {
    const ours = (await passwd()).filter(isOurs);
    if (ours.length > 0) await step(`removing ${ours.length} test accounts`, () => remove(ours));
    for (const group of await groupsOfOurs()) await execa('groupdel', [group], { reject: false });
    await rm(groupsFile, { force: true });
  });
}

/** Of accounts that were made in another /etc, such as the one of a host of the tests: other UIDs. */
async function removeFormerHomes(names: readonly string[]): Promise<void> {
  for (const name of names) await rm(homeOf(name), { recursive: true, force: true });
}

async function remove(accounts: readonly Account[]): Promise<void> {
  for (const { name } of accounts) {
    await execa('userdel', ['--force', '--remove', '--', name], { reject: false });
  }
}

/** A group has no field that could say whose it is: the names of ours are kept beside the site. */
async function ensureGroups(names: readonly string[]): Promise<void> {
  for (const name of names) {
    const { exitCode } = await execa('groupadd', ['--', name], { reject: false });
    // groupadd(8): 9 means that the group is there.
    if (exitCode === 0) await appendFile(groupsFile, `${name}\n`);
    else if (exitCode !== 9)
      throw new Error(`groupadd ${name} ended with ${exitCode ?? 'a signal'}`);
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

/** An account of another site on this machine is not ours either: its home is elsewhere. */
function isOurs(entry: PasswdEntry): boolean {
  return entry.gecos === gecos && entry.home === homeOf(entry.name);
}

function assertOurs(entry: PasswdEntry): void {
  if (isOurs(entry)) return;
  throw new Error(`the account ${entry.name} is not a test account of ours; nothing was changed`);
}

function notMade(name: string): never {
  throw new Error(`${name} is not in /etc/passwd after it was made`);
}

/** The tools of passwd(5) refuse to run at the same time, so we queue. */
function locked<T>(work: () => Promise<T>): Promise<T> {
  return withLock('/run/lock/berth-test-accounts.lock', () => undefined, work);
}
