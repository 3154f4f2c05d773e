import { resolve } from 'node:path';
import type { Argv, CommandModule } from 'yargs';
import { BerthError } from '../errors.ts';
import { checkPort } from './port.ts';
import { withProgress } from './progress.ts';
import { outputOption } from './report-options.ts';
import { type Terminal, wantsColour } from './terminal.ts';

interface LintSshdArguments {
  readonly config: string;
  readonly user?: readonly string[] | undefined;
  readonly group?: readonly string[] | undefined;
  readonly address?: readonly string[] | undefined;
  readonly port?: readonly number[] | undefined;
  readonly sshd: string;
  readonly login: string;
  readonly settings: string;
  readonly pam?: string | undefined;
  readonly output: string;
}

/** `berth lint sshd`: every way past the login that sshd's configuration leaves. */
export function lintCommand(terminal: Terminal): CommandModule {
  return {
    command: 'lint',
    describe: "Find what sshd's configuration leaves open",
    builder: (yargs) => yargs.command(lintSshdCommand(terminal)).demandCommand(1, 1, 'lint what?'),
    handler: () => undefined,
  };
}

function lintSshdCommand(terminal: Terminal): CommandModule<object, LintSshdArguments> {
  return {
    command: 'sshd',
    describe: 'Every way past the forced command, or into the host, with what closes it',
    builder: options,
    handler: (args) => run(args, terminal),
  };
}

function options(yargs: Argv): Argv<LintSshdArguments> {
  const list = { array: true, requiresArg: true } as const;
  const file = { type: 'string', requiresArg: true } as const;
  return yargs
    .option('config', {
      ...file,
      default: '/etc/ssh/sshd_config',
      describe: "sshd's configuration",
    })
    .option('user', { ...list, type: 'string', describe: 'These accounts, and nobody else' })
    .option('group', { ...list, type: 'string', describe: 'A member of each of these groups' })
    .option('address', { ...list, type: 'string', describe: 'As if clients came from here' })
    .option('port', { ...list, type: 'number', describe: "As if they came to this port of sshd's" })
    .option('login', {
      ...file,
      default: '/usr/lib/berth/shell/login',
      describe: "Where Berth's login is installed",
    })
    .option('settings', {
      ...file,
      default: '/etc/berth/ssh.yml',
      describe: 'For the network of the profiles',
    })
    .option('pam', { ...file, describe: "A file in the place of sshd's own in /etc/pam.d" })
    .option('sshd', { ...file, default: '/usr/sbin/sshd', describe: 'The sshd that is asked' })
    .option('output', outputOption)
    .check((args) => checkEndpoints(args))
    .example('berth lint sshd', 'After each change of sshd_config, before sshd is reloaded')
    .example('berth lint sshd --user alice --port 2222', 'What is open for alice at that port')
    .example('berth lint sshd --config /etc/ssh/sshd_config.new', 'Before it is put in its place')
    .epilogue(
      'Without --user and --group: root, one account of each kind that Match and passwd tell apart, and a stranger. Exit status: 0 nothing found, 1 findings, more than 1 the check itself could not run (sysexits(3)). Needs root; nothing is changed.',
    );
}

function checkEndpoints(args: Record<string, unknown>): true {
  for (const port of (args.port ?? []) as readonly number[]) checkPort(port);
  for (const address of (args.address ?? []) as readonly string[])
    if (!/^[0-9A-Fa-f:.]+$/.test(address))
      throw usage(`--address ${address}: an IP address is wanted`);
  return true;
}

function usage(message: string): BerthError {
  return new BerthError(message, {
    code: 'usage',
    exit: 'usage',
    hint: 'See `berth lint sshd --help`.',
  });
}

async function run(args: LintSshdArguments, terminal: Terminal): Promise<void> {
  const { lintSshd } = await import('../sshd-lint/lint-sshd.ts');
  const { lintJson, lintText } = await import('./lint-report.ts');
  const { config, sshd, login, settings, pam } = args;
  const lint = await withProgress(
    terminal,
    () => 'asking sshd',
    () =>
      lintSshd({
        config: resolve(config),
        sshd: resolve(sshd),
        login: resolve(login),
        settings: resolve(settings),
        ...(pam === undefined ? {} : { pam: resolve(pam) }),
        users: args.user ?? [],
        groups: args.group ?? [],
        addresses: args.address ?? [],
        ports: args.port ?? [],
      }),
  );
  const text =
    args.output === 'json'
      ? lintJson(lint)
      : lintText(lint, { colour: wantsColour(terminal.stdout, terminal.env) });
  terminal.stdout.write(text);
  if (lintCount(lint) > 0) terminal.finish(1);
}

function lintCount(lint: {
  readonly samples: readonly { readonly findings: readonly unknown[] }[];
  readonly host: readonly unknown[];
  readonly matches: readonly unknown[];
}): number {
  const { samples, host, matches } = lint;
  return host.length + matches.length + samples.flatMap(({ findings }) => findings).length;
}
