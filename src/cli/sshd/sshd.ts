import { resolve } from 'node:path';
import type { Argv, CommandModule } from 'yargs';
import { commandGroup } from '../kit/command-group.ts';
import { checkPort } from '../kit/port.ts';
import { withProgress } from '../kit/progress.ts';
import { dryRunOption, listOption, outputOption } from '../kit/report-options.ts';
import { lintCommand } from './lint.ts';
import { certifyCommand } from './certify.ts';
import { checkCommand, listCommand } from './state.ts';
import { configDirOption, former, type OverlayArguments, overlayOf } from '../kit/site-options.ts';
import { type Terminal, wantsColour } from '../kit/terminal.ts';

interface NewArguments extends OverlayArguments {
  readonly name: string;
  readonly port: number;
  readonly profile?: string | undefined;
  readonly mode?: 'forced' | 'login-shell' | undefined;
  readonly address?: readonly string[] | undefined;
  readonly banner?: string | undefined;
  readonly 'host-key'?: readonly string[] | undefined;
  readonly accept?: readonly string[] | undefined;
  readonly settings?: string | undefined;
  readonly sshd: string;
  readonly 'dry-run': boolean;
  readonly overwrite: boolean;
  readonly output: string;
}

/** `berth sshd …`: one sshd for each kind of session. */
export function sshdCommand(terminal: Terminal): CommandModule {
  return commandGroup('sshd', 'Manage the sshd of each kind of session, berth-sshd@NAME', [
    newCommand(terminal),
    listCommand(terminal),
    checkCommand(terminal),
    certifyCommand(terminal),
    lintCommand(terminal),
  ]);
}

const file = { type: 'string', requiresArg: true } as const;

function newCommand(terminal: Terminal): CommandModule<object, NewArguments> {
  return {
    command: 'new <name>',
    describe: 'Make /etc/ssh/berth/NAME.conf for berth-sshd@NAME',
    builder: (yargs) => newOptions(yargs),
    handler: (args) => runNew(args, terminal),
  };
}

function newOptions(yargs: Argv): Argv<NewArguments> {
  return yargs
    .positional('name', {
      type: 'string',
      demandOption: true,
      describe: 'Name of the kind: lower-case letters, digits and hyphens',
    })
    .option('port', {
      type: 'number',
      requiresArg: true,
      demandOption: true,
      describe: 'Port of this sshd; below 1024, or any user can listen on it while sshd is stopped',
    })
    .option('profile', {
      ...file,
      describe:
        'Profile of all sessions at this port, with --mode forced [default: the rules of ssh.yml]',
    })
    .option('mode', {
      choices: ['forced', 'login-shell'] as const,
      describe:
        'forced: a forced command, which the shell of users in passwd runs; login-shell: Berth is the login shell [default: as the kinds of this host have it, or forced]',
    })
    .option('address', { ...listOption, describe: 'Addresses to listen on [default: all]' })
    .option('banner', { ...file, describe: 'File that clients see before they log in' })
    .option('host-key', {
      ...listOption,
      describe: 'Private host keys [default: those in /etc/ssh]',
    })
    .option('accept', {
      ...listOption,
      describe: 'Findings of the linter that are accepted, by code, such as shell-reads-home',
    })
    .option('config-dir', configDirOption)
    .option('settings', former('--config-dir'))
    .option('sshd', { ...file, default: '/usr/sbin/sshd', describe: 'Path of sshd' })
    .option('dry-run', dryRunOption('Check everything and print the file, but write nothing'))
    .option('overwrite', {
      type: 'boolean',
      default: false,
      describe: 'Also replace a file that somebody has edited; it is kept under another name',
    })
    .option('output', outputOption)
    .check(({ port }) => checkPort(port) > 0)
    .example(
      'berth sshd new podman --port 332 --mode forced --profile login-connection',
      'Sessions with this profile at port 332',
    )
    .example('berth sshd new podman --port 332 --dry-run', 'Print what would be written')
    .epilogue(
      "Needs root. The linter and `sshd -t` check the file before it is put in place, a former file is kept, and nothing is started. The configuration of the host's own sshd is not changed.",
    );
}

async function runNew(args: NewArguments, terminal: Terminal): Promise<void> {
  const [{ newKind }, { kindUnit }, { isNodeDrained }, { newKindText, newKindJson }] =
    await Promise.all([
      import('../../sshd-kinds/new-kind.ts'),
      import('../../sshd-kinds/kind.ts'),
      import('../../sshd-kinds/kind.ts'),
      import('./new-report.ts'),
    ]);
  const { name, port, profile, mode, banner } = args;
  const overlay = (await overlayOf(args))?.resolve;
  const made = await withProgress(
    terminal,
    () => 'waiting for sshd',
    () =>
      newKind({
        ...{ name, port, mode, dryRun: args['dry-run'], overwrite: args.overwrite },
        profile,
        ...(banner === undefined ? {} : { banner: resolve(banner) }),
        addresses: args.address ?? [],
        hostKeys: (args['host-key'] ?? []).map((key) => resolve(key)),
        accepted: args.accept ?? [],
        settings: resolve(args.settings ?? '/etc/berth/ssh.yml'),
        overlay,
        sshd: resolve(args.sshd),
        now: new Date(terminal.now()),
      }),
  );
  const unit = await kindUnit(name);
  const report = { made, unit, drained: isNodeDrained(), dryRun: args['dry-run'] };
  terminal.stdout.write(
    args.output === 'json'
      ? newKindJson(report)
      : newKindText(report, { colour: wantsColour(terminal.stdout, terminal.env) }),
  );
}
