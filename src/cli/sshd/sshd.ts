import { resolve } from 'node:path';
import { command, group } from '../kit/command.ts';
import { type ArgumentsOf, choice, flag, list, number, text } from '../kit/options.ts';
import { checkPort } from '../kit/output-path.ts';
import { configDirOption, overlayOf } from '../kit/site-options.ts';
import { type Terminal, wantsColour } from '../kit/terminal.ts';
import { withProgress } from '../kit/progress.ts';
import { certifyCommand } from './certify.ts';
import { lintCommand } from './lint.ts';
import { checkCommand, listCommand } from './state.ts';

const positionals = {
  name: {
    type: 'string',
    kind: 'sshd-kind',
    demandOption: true,
    describe: 'Name of the kind: lower-case letters, digits and hyphens',
  },
} as const;

const options = {
  port: number(
    'PORT',
    'Port of this sshd; below 1024, or any user can listen on it while sshd is stopped',
    { demandOption: true },
  ),
  profile: text(
    'profile',
    'Profile of all sessions at this port, with --mode forced [default: the rules of ssh.yml]',
  ),
  mode: choice(
    ['forced', 'login-shell'],
    'forced: a forced command, which the shell of users in passwd runs; login-shell: Berth is the login shell [default: as the kinds of this host have it, or forced]',
  ),
  address: list('address', 'Addresses to listen on [default: all]'),
  banner: text('file', 'File that clients see before they log in'),
  'host-key': list('file', 'Private host keys [default: those in /etc/ssh]'),
  accept: list(
    'CODE',
    'Findings of the linter that are accepted, by code, such as shell-reads-home',
  ),
  ...configDirOption,
  sshd: text('file', 'Path of sshd', { default: '/usr/sbin/sshd' }),
  'dry-run': flag('Check everything and print the file, but write nothing'),
  overwrite: flag('Also replace a file that somebody has edited; it is kept under another name'),
};

const newCommand = command({
  command: 'new <name>',
  describe: 'Make /etc/ssh/berth/NAME.conf for berth-sshd@NAME',
  positionals,
  options,
  without: { '--profile': ['--mode login-shell'] },
  examples: [
    [
      'berth sshd new podman --port 332 --mode forced --profile login-connection',
      'Sessions with this profile at port 332',
    ],
    ['berth sshd new podman --port 332 --dry-run', 'Print what would be written'],
  ],
  epilogue:
    "Needs root. The linter and `sshd -t` check the file before it is put in place, a former file is kept, and nothing is started. The configuration of the host's own sshd is not changed.",
  run: runNew,
});

/** `berth sshd …`: one sshd for each kind of session. */
export const sshdCommand = group(
  'sshd',
  'Manage the sshd of each kind of session, berth-sshd@NAME',
  [newCommand, listCommand, checkCommand, certifyCommand, lintCommand],
);

async function runNew(
  args: ArgumentsOf<typeof options & typeof positionals>,
  terminal: Terminal,
): Promise<void> {
  checkPort(args.port);
  const { newKind } = await import('../../setup/sshd-kinds/new-kind.ts');
  const { isNodeDrained, kindUnit } = await import('../../setup/sshd-kinds/kind.ts');
  const { newKindText } = await import('./lint-report.ts');
  const { name, port, profile, mode, banner } = args;
  const overlay = (await overlayOf(args))?.resolve;
  const made = await withProgress(
    terminal,
    () => 'waiting for sshd',
    () =>
      newKind({
        name,
        port,
        mode,
        dryRun: args['dry-run'],
        overwrite: args.overwrite,
        profile,
        ...(banner !== undefined && { banner: resolve(banner) }),
        addresses: args.address ?? [],
        hostKeys: (args['host-key'] ?? []).map((key) => resolve(key)),
        accepted: args.accept ?? [],
        settings: '/etc/berth/ssh.yml',
        overlay,
        sshd: resolve(args.sshd),
        now: new Date(terminal.now()),
      }),
  );
  const unit = await kindUnit(name);
  const report = { made, unit, drained: isNodeDrained(), dryRun: args['dry-run'] };
  const colour = wantsColour(terminal.stdout, terminal.env);
  terminal.stdout.write(newKindText(report, { colour }));
}
