import { readFile } from 'node:fs/promises';
import { defaultSettings } from '../../config/schema/default-settings.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { getent } from '../../system/getent.ts';
import { type FileStep, whole } from './setup.ts';

/** The accounts that shall log in, before anything is changed. */
export interface AccountState {
  readonly groupExists: boolean;
  /** All in /etc/passwd: earlier runs were for others. */
  readonly all: readonly LocalAccount[];
  /** Those that are in /etc/passwd. */
  readonly local: readonly LocalAccount[];
  /** Home directories by the names of all accounts. */
  readonly homes: ReadonlyMap<string, string>;
  /** Names of those that only a directory service has. */
  readonly elsewhere: readonly string[];
}

export interface LocalAccount {
  readonly name: string;
  readonly shell: string;
  /** Whether the account is a member of the group. */
  readonly member: boolean;
}

/** @throws {BerthError} `user-unknown`, `uid-below-minimum`, `nss-failed` */
export async function accountState(names: readonly string[], group: string): Promise<AccountState> {
  const [groupLine] = await getent('group', [group]);
  const known = names.length === 0 ? [] : await getent('passwd', names);
  const passwd = await readFile('/etc/passwd', 'utf8');
  const members = groupLine?.split(':')[3]?.split(',') ?? [];
  const gid = groupLine?.split(':')[2];
  const lines = passwd.split('\n').filter((line) => line !== '');
  const all = lines.map((line): LocalAccount => {
    const [name = '', , , primary, , , shell = ''] = line.split(':');
    return { name, shell, member: members.includes(name) || (primary ?? '') === gid };
  });
  const local: LocalAccount[] = [];
  const elsewhere: string[] = [];
  const homes = new Map<string, string>();
  for (const name of names) {
    const entry = known.find((one) => one.startsWith(`${name}:`));
    if (entry === undefined)
      throw new BerthError('user-unknown', `there is no account ${JSON.stringify(name)}`, {
        hint: 'Give the name as `getent passwd` prints it, or make the account first, for example with `useradd --create-home`.',
      });
    if (Number(entry.split(':')[2]) < defaultSettings.minimumUid) throw systemAccount(name);
    homes.set(name, entry.split(':')[5] ?? '');
    const account = all.find((one) => one.name === name);
    if (account === undefined) elsewhere.push(name);
    else local.push(account);
  }
  return { groupExists: groupLine !== undefined, all, local, elsewhere, homes };
}

/** Its own shell on this host would be replaced. */
function systemAccount(name: string): BerthError {
  const { minimumUid } = defaultSettings;
  return new BerthError(
    'uid-below-minimum',
    `${name} is a system account (its UID is below ${minimumUid})`,
    {
      hint: 'Give accounts of people. root keeps its shell on this host.',
    },
  );
}

/** The login shells that accounts had before they got Berth's, so that a later run can say how to undo it. */
export const formerShellsFile = '/etc/berth/former-shells';

export function formerShells(text = ''): ReadonlyMap<string, string> {
  return new Map(
    [...text.matchAll(/^([^#:\n]+):(.+)$/gm)].map(([, name = '', shell = '']) => [name, shell]),
  );
}

/** Adds the shells that will be replaced. No step if there is nothing to keep. */
export function keepShells(
  present: string | undefined,
  accounts: readonly LocalAccount[],
): FileStep[] {
  const shells = new Map(formerShells(present));
  for (const { name, shell } of accounts)
    if (shell !== installedPath('shell/login')) shells.set(name, shell === '' ? '/bin/sh' : shell);
  if (shells.size === 0) return [];
  const lines = [...shells].map(([name, shell]) => `${name}:${shell}\n`);
  return [
    {
      ...whole(formerShellsFile, `# Login shells before berth init login-node\n${lines.join('')}`),
      formerTexts: present === undefined ? [] : [present],
    },
  ];
}
