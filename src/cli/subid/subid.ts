import { readFileSync } from 'node:fs';
import { BerthError, expectErrno } from '../../system/errors/berth-error.ts';
import { usageError } from '../../system/errors/usage-error.ts';
import type { SubidInput } from '../../setup/subid/plan-subids.ts';
import { type ReservedIds, reservedIds } from '../../setup/subid/rules/directory-ids.ts';
import { fileIdentity } from '../../system/config-files.ts';
import { command, group } from '../kit/command.ts';
import { type ArgumentsOf, flag, list, outputOption, text, words } from '../kit/options.ts';

/** Both commands have the same options. */
const helpOf = 'berth subid plan';

const positionals = {
  user: words('user', 'Login names [default: all that `getent passwd` lists]'),
};

const options = {
  'users-from': text(
    'file',
    'File with one login name or passwd(5) entry on each line; - for standard input',
  ),
  'first-uid': text('UID', 'Lowest UID that gets a range: the first one', { default: '1000' }),
  base: text('ID', 'Start of the first range', { default: '655360000' }),
  size: text('COUNT', 'IDs for each user', { default: '65536' }),
  reserved: list(
    'IDS',
    'UIDs and GIDs of people whom a directory does not list, FROM-TO: no range contains them',
  ),
  groups: flag("Also add each user's supplementary groups to /etc/subgid, one GID each"),
  directories: flag('Also create the directories of users below STORAGE/users'),
  storage: text(
    'directory',
    'Storage directory [default: that of /etc/berth/ssh.yml, or /var/lib/berth-ssh]',
  ),
  prefix: text('directory', 'Prefix directory for /etc and the accounts, as in useradd --prefix'),
  output: outputOption,
};

type SubidArguments = ArgumentsOf<typeof options & typeof positionals>;

const needs = { '--storage': '--directories' };

const planCommand = command({
  command: 'plan [user..]',
  describe: 'Print what is missing in /etc/subuid and /etc/subgid',
  positionals,
  options,
  needs,
  examples: [
    ['berth subid plan', 'Print what all accounts lack that `getent passwd` lists'],
    ['berth subid plan alice bob -o json', 'Print JSON for two users'],
  ],
  epilogue:
    'Exit status, as with kubectl diff: 0 no changes, 1 changes, more than 1 an error or a user without a range. Nothing is changed.',
  run: async (args, terminal) => {
    const { planSubids } = await import('../../setup/subid/plan-subids.ts');
    const { writeSubidPlan } = await import('./subid-report.ts');
    return writeSubidPlan(await planSubids(await inputOf(args)), args.output, terminal);
  },
});

const applyCommand = command({
  command: 'apply [user..]',
  describe: 'Add what is missing to /etc/subuid and /etc/subgid',
  positionals,
  options: {
    ...options,
    'keep-going': flag('Write the other ranges even if some users cannot get one'),
  },
  needs,
  examples: [
    ['berth subid apply', 'Add ranges for all accounts that `getent passwd` lists'],
    [
      'berth subid apply --users-from users --groups --directories',
      'Add ranges for LDAP users by name',
    ],
  ],
  epilogue:
    'Existing lines are not changed. Use the same --first-uid, --base and --size on every node.',
  run: async (args, terminal) => {
    const { applySubids } = await import('../../setup/subid/apply-subids.ts');
    const { writeSubidResult } = await import('./subid-report.ts');
    const result = await applySubids({
      ...(await inputOf(args)),
      keepGoing: args['keep-going'],
    });
    return writeSubidResult(result, args.output, terminal);
  },
});

/** `berth subid …`: subordinate UIDs and GIDs for all users. */
export const subidCommand = group(
  'subid',
  'Assign the subordinate UIDs and GIDs that rootless podman needs',
  [planCommand, applyCommand],
);

async function inputOf(args: SubidArguments): Promise<SubidInput> {
  const wanted = wantedUsers(args);
  return {
    wanted,
    groups: args.groups,
    reserved: args.reserved?.map(reservedOf),
    layout: {
      firstUid: idOf(args, 'first-uid', 0),
      base: idOf(args, 'base', 1),
      size: idOf(args, 'size', 1),
    },
    ...(args.directories && { storage: args.storage ?? (await storageOfSite()) }),
    prefix: args.prefix,
  };
}

/** @throws what `loadSshSettings` throws */
async function storageOfSite(): Promise<string> {
  if (fileIdentity('/etc/berth/ssh.yml') === 'absent') return '/var/lib/berth-ssh';
  const { loadSshSettings } = await import('../../config/load/load-ssh-settings.ts');
  return (await loadSshSettings()).storage;
}

function wantedUsers(args: SubidArguments): string[] | undefined {
  const { user = [], 'users-from': file } = args;
  // Those after `--`.
  const { _: [, , ...behind] = [] } = args as { readonly _?: readonly (string | number)[] };
  const named = [...user, ...behind.map(String)];
  if (file === undefined) return named.length === 0 ? undefined : named;
  const listed = textOfList(file)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => !/^(?:#|$)/.test(line));
  return [...named, ...listed];
}

/** A pipe, too: `--users-from <(getent passwd)`. */
function textOfList(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (cause) {
    expectErrno(cause);
    const message = `--users-from ${file} cannot be read: ${String(cause.code)}`;
    const hint =
      'Give a file with one login name or passwd(5) entry on each line, or - for standard input.';
    throw new BerthError('config-unreadable', message, { hint, fields: { file }, cause });
  }
}

function reservedOf(text: string): ReservedIds {
  const range = reservedIds(text);
  if (range !== undefined) return range;
  throw usageError(helpOf, `--reserved ${text}: must be FROM-TO, such as 1000-99999`);
}

function idOf(args: SubidArguments, option: 'first-uid' | 'base' | 'size', lowest: number): number {
  const text = args[option];
  const id = Number(text);
  if (/^\d{1,10}$/.test(text) && id >= lowest && id <= 4_294_967_294) return id;
  throw usageError(helpOf, `--${option} ${text}: must be a number from ${lowest} to 4294967294`);
}
