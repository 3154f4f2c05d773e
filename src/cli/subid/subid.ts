import { readFileSync } from 'node:fs';
import type { Argv, CommandModule } from 'yargs';
import { commandGroup } from '../kit/command-group.ts';
import { BerthError, isErrno } from '../../errors/berth-error.ts';
import type { SubidInput } from '../../subid/plan-subids.ts';
import { outputOption } from '../kit/report-options.ts';
import type { Terminal } from '../kit/terminal.ts';
import { fileIdentity } from '../../system/config-files.ts';
import { usageError } from '../../errors/usage-error.ts';

const helpOf = 'berth subid plan';

interface SubidArguments {
  /** The arguments of the command, and those after `--`. */
  readonly _?: readonly (string | number)[];
  readonly user?: readonly string[] | undefined;
  readonly 'users-from'?: string | undefined;
  readonly 'min-uid': string;
  readonly 'max-uid': string;
  readonly 'first-uid': string;
  readonly base: string;
  readonly size: string;
  readonly groups: boolean;
  readonly directories: boolean;
  readonly storage?: string | undefined;
  readonly prefix?: string | undefined;
  readonly output: string;
}

interface ApplyArguments extends SubidArguments {
  readonly 'keep-going': boolean;
  readonly 'lock-timeout': string;
}

/** `berth subid …`: subordinate UIDs and GIDs for all users. */
export function subidCommand(terminal: Terminal): CommandModule {
  return commandGroup('subid', 'Assign the subordinate UIDs and GIDs that rootless podman needs', [
    planCommand(terminal),
    applyCommand(terminal),
  ]);
}

function planCommand(terminal: Terminal): CommandModule<object, SubidArguments> {
  return {
    command: 'plan [user..]',
    describe: 'Print what is missing in /etc/subuid and /etc/subgid',
    builder: (yargs) =>
      options(yargs)
        .example('berth subid plan', 'Print a diff for all accounts that `getent passwd` lists')
        .example('berth subid plan alice bob -o json', 'Print JSON for two users')
        .epilogue(
          'Exit status, as with kubectl diff: 0 no changes, 1 changes, more than 1 an error or a user without a range. Nothing is changed.',
        ),
    handler: async (args) => {
      const [{ planSubids }, { writeSubidPlan }] = await Promise.all([
        import('../../subid/plan-subids.ts'),
        import('./subid-report.ts'),
      ]);
      terminal.finish(writeSubidPlan(await planSubids(await inputOf(args)), args.output, terminal));
    },
  };
}

function applyCommand(terminal: Terminal): CommandModule<object, ApplyArguments> {
  return {
    command: 'apply [user..]',
    describe: 'Add what is missing to /etc/subuid and /etc/subgid',
    builder: (yargs) =>
      options(yargs)
        .option('keep-going', {
          type: 'boolean',
          default: false,
          describe: 'Write the other ranges even if some users cannot get one',
        })
        .option('lock-timeout', {
          type: 'string',
          requiresArg: true,
          default: '15s',
          describe: 'How long to wait for useradd and similar tools',
        })
        .example('berth subid apply', 'Add ranges for all accounts that `getent passwd` lists')
        .example(
          'berth subid apply --users-from users --groups --directories',
          'Add ranges for LDAP users by name',
        )
        .epilogue(
          'Existing lines are not changed. Use the same --first-uid, --base and --size on every node.',
        ),
    handler: async (args) => {
      const [{ applySubids }, { parseSeconds }, { writeSubidResult }] = await Promise.all([
        import('../../subid/apply-subids.ts'),
        import('../kit/duration.ts'),
        import('./subid-report.ts'),
      ]);
      const result = await applySubids({
        ...(await inputOf(args)),
        keepGoing: args['keep-going'],
        lockWaitMs:
          parseSeconds(args['lock-timeout'], 'lock-timeout', { least: '0s', most: '1h' }) * 1000,
      });
      terminal.finish(writeSubidResult(result, args.output, terminal));
    },
  };
}

function options<T>(yargs: Argv<T>): Argv<T & SubidArguments> {
  const text = { type: 'string', requiresArg: true } as const;
  return yargs
    .positional('user', {
      type: 'string',
      array: true,
      describe: 'Login names [default: all that `getent passwd` lists]',
    })
    .option('users-from', {
      ...text,
      describe: 'File with one login name or passwd(5) entry on each line; - for standard input',
    })
    .option('min-uid', { ...text, default: '1000', describe: 'Lowest UID that gets a range' })
    .option('max-uid', {
      ...text,
      default: '4294967294',
      describe: 'Highest UID that gets a range',
    })
    .option('first-uid', { ...text, default: '1000', describe: 'UID with the first range' })
    .option('base', { ...text, default: '655360000', describe: 'Start of the first range' })
    .option('size', { ...text, default: '65536', describe: 'IDs for each user' })
    .option('groups', {
      type: 'boolean',
      default: false,
      describe: "Also add each user's supplementary groups to /etc/subgid, one GID each",
    })
    .option('directories', {
      // Its name in earlier versions.
      alias: 'folders',
      type: 'boolean',
      default: false,
      describe: 'Also create the directories of users below STORAGE/users',
    })
    .option('storage', {
      ...text,
      describe: 'Storage directory [default: that of /etc/berth/ssh.yml, or /var/lib/berth-ssh]',
    })
    .option('prefix', {
      ...text,
      describe: 'Prefix directory for /etc and the accounts, as in useradd --prefix',
    })
    .option('output', outputOption);
}

async function inputOf(args: SubidArguments): Promise<SubidInput> {
  const wanted = wantedUsers(args);
  return {
    wanted,
    minimumUid: idOf(args, 'min-uid', 0),
    maximumUid: idOf(args, 'max-uid', 0),
    groups: args.groups,
    layout: {
      firstUid: idOf(args, 'first-uid', 0),
      base: idOf(args, 'base', 1),
      size: idOf(args, 'size', 1),
    },
    ...(args.directories ? { storage: args.storage ?? (await storageOfSite()) } : {}),
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
  const { user = [], 'users-from': file, _: [, , ...behind] = [] } = args;
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
    if (!isErrno(cause)) throw cause;
    const message = `--users-from ${file} cannot be read: ${String(cause.code)}`;
    const hint =
      'Give a file with one login name or passwd(5) entry on each line, or - for standard input.';
    throw new BerthError(message, { code: 'config-unreadable', hint, fields: { file }, cause });
  }
}

function idOf(
  args: SubidArguments,
  option: 'min-uid' | 'max-uid' | 'first-uid' | 'base' | 'size',
  lowest: number,
): number {
  const text = args[option];
  const id = Number(text);
  if (/^\d{1,10}$/.test(text) && id >= lowest && id <= 4_294_967_294) return id;
  throw usageError(helpOf, `--${option} ${text}: must be a number from ${lowest} to 4294967294`);
}
