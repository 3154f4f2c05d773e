import { existsSync, readFileSync } from 'node:fs';
import type { Argv, CommandModule } from 'yargs';
import { asBerthError, BerthError } from '../errors.ts';
import type { SubidInput } from '../subid/plan.ts';
import { outputOption } from './report-options.ts';
import { fail, type Terminal } from './terminal.ts';

interface SubidArguments {
  /** The words of the command, and what stands behind `--`. */
  readonly _?: readonly (string | number)[];
  readonly user?: readonly string[] | undefined;
  readonly 'users-from'?: string | undefined;
  readonly 'min-uid': string;
  readonly 'max-uid': string;
  readonly 'first-uid': string;
  readonly base: string;
  readonly size: string;
  readonly groups: boolean;
  readonly folders: boolean;
  readonly storage?: string | undefined;
  readonly prefix?: string | undefined;
  readonly output: string;
}

interface ApplyArguments extends SubidArguments {
  readonly 'keep-going': boolean;
  readonly 'lock-timeout': string;
}

/** `berth subid …`: subordinate UIDs and GIDs for all users of a site. */
export function subidCommand(terminal: Terminal): CommandModule {
  return {
    command: 'subid',
    describe: 'Give users their subordinate UIDs and GIDs, without which podman starts nothing',
    builder: (yargs) =>
      yargs
        .command(planCommand(terminal))
        .command(applyCommand(terminal))
        .demandCommand(1, 1, 'subid: plan or apply?')
        .strict(),
    handler: () => undefined,
  };
}

function planCommand(terminal: Terminal): CommandModule<object, SubidArguments> {
  return {
    command: 'plan [user..]',
    describe: 'Show what is missing in /etc/subuid and /etc/subgid, and change nothing',
    builder: (yargs) =>
      options(yargs)
        .example('berth subid plan', 'A diff for all accounts that `getent passwd` lists')
        .example('berth subid plan alice bob -o json', 'Two users, for a script')
        .epilogue(
          'Exit status: 0 nothing to do, 1 changes, more than 1 an error or a user without room (as kubectl diff).',
        ),
    handler: async (args) => {
      try {
        const [{ planSubids }, { writeSubidPlan }] = await Promise.all([
          import('../subid/plan.ts'),
          import('./subid-text.ts'),
        ]);
        terminal.finish(
          writeSubidPlan(await planSubids(await inputOf(args)), args.output, terminal),
        );
      } catch (thrown) {
        fail(terminal, asBerthError(thrown, 'berth subid plan'));
      }
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
          describe: 'Write for the others where some users have no room',
        })
        .option('lock-timeout', {
          type: 'string',
          requiresArg: true,
          default: '15s',
          describe: 'How long to wait for useradd and the like',
        })
        .example('berth subid apply', 'All accounts that `getent passwd` lists')
        .example('berth subid apply --users-from users --groups --folders', 'LDAP users by name')
        .epilogue(
          'Lines that are there stay as they are. Say the same --first-uid, --base and --size on every node.',
        ),
    handler: async (args) => {
      try {
        const [{ applySubids }, { seconds }, { writeSubidResult }] = await Promise.all([
          import('../subid/apply.ts'),
          import('./duration.ts'),
          import('./subid-text.ts'),
        ]);
        const result = await applySubids({
          ...(await inputOf(args)),
          keepGoing: args['keep-going'],
          lockWaitMs:
            seconds(args['lock-timeout'], 'lock-timeout', { least: '0s', most: '1h' }) * 1000,
        });
        terminal.finish(writeSubidResult(result, args.output, terminal));
      } catch (thrown) {
        fail(terminal, asBerthError(thrown, 'berth subid apply'));
      }
    },
  };
}

function options<T>(yargs: Argv<T>): Argv<T & SubidArguments> {
  const text = { type: 'string', requiresArg: true } as const;
  return yargs
    .parserConfiguration({ 'duplicate-arguments-array': true, 'boolean-negation': false })
    .check((argv) => {
      // Several users come as an array only where everything else can, too.
      const twice = Object.keys(argv).find(
        (key) => key !== 'user' && key !== '_' && Array.isArray(argv[key]),
      );
      if (twice !== undefined) throw usage(`--${twice} is given twice`);
      return true;
    })
    .positional('user', {
      type: 'string',
      array: true,
      describe: 'Login names [default: all that `getent passwd` lists]',
    })
    .option('users-from', {
      ...text,
      describe: 'File with a login name, or a line of passwd(5), a line; - is standard input',
    })
    .option('min-uid', { ...text, default: '1000', describe: 'Nobody below' })
    .option('max-uid', { ...text, default: '4294967294', describe: 'Nobody above' })
    .option('first-uid', { ...text, default: '1000', describe: 'The UID whose range is the first' })
    .option('base', { ...text, default: '655360000', describe: 'Where the first range begins' })
    .option('size', { ...text, default: '65536', describe: 'IDs for each user' })
    .option('groups', {
      type: 'boolean',
      default: false,
      describe: "The users' supplementary groups, too, each as one ID in /etc/subgid",
    })
    .option('folders', {
      type: 'boolean',
      default: false,
      describe: "The users' folders below STORAGE/users, too",
    })
    .option('storage', {
      ...text,
      describe: 'Where [default: as /etc/berth/ssh.yml has it, or /var/lib/berth-ssh]',
    })
    .option('prefix', {
      ...text,
      describe: 'Files of etc below this folder, accounts too, as useradd --prefix',
    })
    .option('output', outputOption);
}

async function inputOf(args: SubidArguments): Promise<SubidInput> {
  const wanted = wantedUsers(args);
  return {
    ...(wanted === undefined ? {} : { wanted }),
    minimumUid: idOf(args, 'min-uid', 0),
    maximumUid: idOf(args, 'max-uid', 0),
    groups: args.groups,
    layout: {
      firstUid: idOf(args, 'first-uid', 0),
      base: idOf(args, 'base', 1),
      size: idOf(args, 'size', 1),
    },
    ...(args.folders ? { storage: args.storage ?? (await storageOfSite()) } : {}),
    ...(args.prefix === undefined ? {} : { prefix: args.prefix }),
  };
}

/** @throws what `loadSshSettings` throws */
async function storageOfSite(): Promise<string> {
  if (!existsSync('/etc/berth/ssh.yml')) return '/var/lib/berth-ssh';
  const { loadSshSettings } = await import('../settings/load-ssh.ts');
  return (await loadSshSettings()).storage;
}

function wantedUsers(args: SubidArguments): string[] | undefined {
  const { user = [], 'users-from': file, _: [, , ...behind] = [] } = args;
  const named = [...user, ...behind.map(String)];
  if (file === undefined) return named.length === 0 ? undefined : named;
  const lines = readFileSync(file === '-' ? 0 : file, 'utf8').split('\n');
  const listed = lines.map((line) => line.trim()).filter((line) => !/^(?:#|$)/.test(line));
  return [...named, ...listed];
}

function idOf(
  args: SubidArguments,
  option: 'min-uid' | 'max-uid' | 'first-uid' | 'base' | 'size',
  lowest: number,
): number {
  const text = args[option];
  const id = Number(text);
  if (/^\d{1,10}$/.test(text) && id >= lowest && id <= 4_294_967_294) return id;
  throw usage(`--${option} ${text}: a number from ${lowest} to 4294967294 is wanted`);
}

function usage(message: string): BerthError {
  return new BerthError(message, {
    code: 'usage',
    exit: 'usage',
    hint: 'See `berth subid plan --help`.',
  });
}
