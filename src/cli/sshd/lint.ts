import { resolve } from 'node:path';
import type { Argv, CommandModule } from 'yargs';
import { checkPort } from '../kit/port.ts';
import { withProgress } from '../kit/progress.ts';
import { listOption, outputOption } from '../kit/report-options.ts';
import { configDirOption, former, type OverlayArguments, overlayOf } from '../kit/site-options.ts';
import { type Terminal, wantsColour } from '../kit/terminal.ts';
import { usageError } from '../../errors/usage-error.ts';

const helpOf = 'berth sshd lint';

interface LintSshdArguments extends OverlayArguments {
  readonly 'sshd-config'?: string | undefined;
  readonly config?: string | undefined;
  readonly user?: readonly string[] | undefined;
  readonly group?: readonly string[] | undefined;
  readonly address?: readonly string[] | undefined;
  readonly port?: readonly string[] | undefined;
  readonly sshd: string;
  readonly login: string;
  readonly settings?: string | undefined;
  readonly pam?: string | undefined;
  readonly output: string;
}

/** `berth sshd lint`: each way past `login` that the configuration of sshd leaves open. */
export function lintCommand(terminal: Terminal): CommandModule<object, LintSshdArguments> {
  return {
    command: 'lint',
    describe: 'List each way around the forced command or onto the host, and how to fix it',
    builder: options,
    handler: (args) => run(args, terminal),
  };
}

function options(yargs: Argv): Argv<LintSshdArguments> {
  const file = { type: 'string', requiresArg: true } as const;
  return yargs
    .option('sshd-config', {
      ...file,
      describe: 'Configuration file of sshd [default: /etc/ssh/sshd_config]',
    })
    .option('config', former('--sshd-config'))
    .option('user', { ...listOption, describe: 'Check only these accounts' })
    .option('group', {
      ...listOption,
      describe: 'Check one member of each of these groups',
    })
    .option('address', { ...listOption, describe: 'Client addresses to check' })
    .option('port', { ...listOption, describe: 'Ports of sshd to check' })
    .option('login', {
      ...file,
      default: '/usr/lib/berth/shell/login',
      describe: 'Path of the login program of Berth',
    })
    .option('config-dir', configDirOption)
    .option('settings', former('--config-dir'))
    .option('pam', { ...file, describe: 'PAM file to check instead of the one in /etc/pam.d' })
    .option('sshd', { ...file, default: '/usr/sbin/sshd', describe: 'Path of sshd' })
    .option('output', outputOption)
    .check((args) => checkEndpoints(args))
    .example('berth sshd lint', 'Check sshd_config before sshd is reloaded')
    .example('berth sshd lint --user alice --port 332', 'Check connections of alice to one port')
    .example(
      'berth sshd lint --config /etc/ssh/sshd_config.new',
      'Check a new file before it is installed',
    )
    .epilogue(
      'Without --user and --group, root, an unknown account and one account for each combination of Match blocks and shells are checked. Exit status: 0 nothing found, 1 findings, more than 1 the check could not run (sysexits(3)). Needs root; nothing is changed.',
    );
}

function checkEndpoints(args: Record<string, unknown>): true {
  for (const port of (args.port ?? []) as readonly string[]) checkPort(Number(port), port);
  for (const address of (args.address ?? []) as readonly string[])
    if (!/^[0-9A-Fa-f:.]+$/.test(address))
      throw usageError(helpOf, `--address ${address}: not an IP address`);
  return true;
}

async function run(args: LintSshdArguments, terminal: Terminal): Promise<void> {
  const { lintSshd } = await import('../../sshd-lint/lint-sshd.ts');
  const { lintJson, lintText } = await import('./lint-report.ts');
  const { sshd, login, pam } = args;
  const config = args['sshd-config'] ?? args.config ?? '/etc/ssh/sshd_config';
  const settings = args.settings ?? '/etc/berth/ssh.yml';
  const overlay = (await overlayOf(args))?.resolve;
  const lint = await withProgress(
    terminal,
    () => 'waiting for sshd',
    () =>
      lintSshd({
        config: resolve(config),
        sshd: resolve(sshd),
        login: resolve(login),
        settings: resolve(settings),
        overlay,
        ...(pam === undefined ? {} : { pam: resolve(pam) }),
        users: args.user ?? [],
        groups: args.group ?? [],
        addresses: args.address ?? [],
        ports: (args.port ?? []).map(Number),
      }),
  );
  const { hostConfig, kindNames } = await import('../../sshd-kinds/kind.ts');
  const isHostsOwn = resolve(config) === hostConfig && kindNames().length > 0;
  const next = isHostsOwn
    ? ["this is the host's own sshd; for those of sessions: berth sshd check"]
    : [];
  const text =
    args.output === 'json'
      ? lintJson(lint, next)
      : lintText(lint, { colour: wantsColour(terminal.stdout, terminal.env) }, next);
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
