import { resolve } from 'node:path';
import type { CommandModule } from 'yargs';
import { withProgress } from '../kit/progress.ts';
import { outputOption } from '../kit/report-options.ts';
import { configDirOption, former, type OverlayArguments, overlayOf } from '../kit/site-options.ts';
import type { Terminal } from '../kit/terminal.ts';

interface ListArguments {
  readonly output: string;
}

interface CheckArguments extends ListArguments, OverlayArguments {
  readonly name?: readonly string[] | undefined;
  readonly settings?: string | undefined;
  readonly sshd: string;
}

const file = { type: 'string', requiresArg: true } as const;
const balancerFile = '/etc/berth/balancer.yml';

/** `berth sshd list`: the kinds of session of this host. */
export function listCommand(terminal: Terminal): CommandModule<object, ListArguments> {
  return {
    command: 'list',
    describe: 'List the kinds of session of this host, with port, profile, state and host keys',
    builder: (yargs) =>
      yargs
        .option('output', outputOption)
        .example('berth sshd list', 'One line for each kind, and its problems')
        .example('berth sshd list -o json', 'Print JSON for scripts: .kinds[].endpoints')
        .epilogue('Exit status: 0, also if there are problems.'),
    handler: async ({ output }) => {
      const [{ listKinds }, { kindsJson, kindsText }] = await Promise.all([
        import('../../sshd-kinds/check-kinds.ts'),
        import('./kinds-report.ts'),
      ]);
      const found = await listKinds({ now: terminal.now(), hostname: await hostname() });
      terminal.stdout.write(output === 'json' ? kindsJson(found) : kindsText(found));
    },
  };
}

/** `berth sshd check`: everything that can be wrong with a kind. */
export function checkCommand(terminal: Terminal): CommandModule<object, CheckArguments> {
  return {
    command: 'check [name..]',
    describe: 'Check kinds of session: linter, sshd -t, unit, port, certificates, loaded settings',
    builder: (yargs) =>
      yargs
        .positional('name', { type: 'string', array: true, describe: 'Kinds [default: all]' })
        .option('config-dir', configDirOption)
        .option('settings', former('--config-dir'))
        .option('sshd', { ...file, default: '/usr/sbin/sshd', describe: 'Path of sshd' })
        .option('output', outputOption)
        .example('berth sshd check podman', 'Check one kind after its file was edited')
        .epilogue(
          'Needs root. Exit status: 0 no problem, 1 a problem, more than 1 the check could not run (sysexits(3)). Nothing is changed.',
        ),
    handler: (args) => check(args, terminal),
  };
}

async function check(args: CheckArguments, terminal: Terminal): Promise<void> {
  const [{ checkKinds }, { kindsJson, kindsText }] = await Promise.all([
    import('../../sshd-kinds/check-kinds.ts'),
    import('./kinds-report.ts'),
  ]);
  const overlay = (await overlayOf(args))?.resolve;
  const about = { now: terminal.now(), hostname: await hostname() };
  const checked = await withProgress(
    terminal,
    () => 'waiting for sshd',
    () =>
      checkKinds({
        ...about,
        names: args.name ?? [],
        sshd: resolve(args.sshd),
        settings: resolve(args.settings ?? '/etc/berth/ssh.yml'),
        overlay,
      }),
  );
  terminal.stdout.write(args.output === 'json' ? kindsJson(checked) : kindsText(checked));
  if (checked.some(({ problems }) => problems.length > 0)) terminal.finish(1);
  else if (args.output === 'text' && checked.length > 0)
    terminal.stdout.write('\nno problem was found\n');
}

async function hostname(): Promise<string | undefined> {
  const { balancerHostname } = await import('../../sshd-kinds/check-kinds.ts');
  return balancerHostname(balancerFile);
}
