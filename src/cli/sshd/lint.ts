import { resolve } from 'node:path';
import { usageError } from '../../system/errors/usage-error.ts';
import { command } from '../kit/command.ts';
import { type ArgumentsOf, list, outputOption, text } from '../kit/options.ts';
import { checkPort } from '../kit/output-path.ts';
import { configDirOption, overlayOf } from '../kit/site-options.ts';
import { type Terminal, wantsColour } from '../kit/terminal.ts';
import { withProgress } from '../kit/progress.ts';

const helpOf = 'berth sshd lint';

const options = {
  'sshd-config': text('file', 'Configuration file of sshd [default: /etc/ssh/sshd_config]'),
  user: list('user', 'Check only these accounts'),
  group: list('group', 'Check one member of each of these groups'),
  address: list('ADDRESS', 'Client addresses to check'),
  port: list('PORT', 'Ports of sshd to check'),
  login: text('file', 'Path of the login program of Berth', {
    default: '/usr/lib/berth/shell/login',
  }),
  ...configDirOption,
  pam: text('file', 'PAM file to check instead of the one in /etc/pam.d'),
  sshd: text('file', 'Path of sshd', { default: '/usr/sbin/sshd' }),
  output: outputOption,
};

type LintArguments = ArgumentsOf<typeof options>;

/** `berth sshd lint`: each way past `login` that the configuration of sshd leaves open. */
export const lintCommand = command({
  command: 'lint',
  describe: 'List each way around the forced command or onto the host, and how to fix it',
  options,
  examples: [
    ['berth sshd lint', 'Check sshd_config before sshd is reloaded'],
    ['berth sshd lint --user alice --port 332', 'Check connections of alice to one port'],
    [
      'berth sshd lint --sshd-config /etc/ssh/sshd_config.new',
      'Check a new file before it is installed',
    ],
  ],
  epilogue:
    'Without --user and --group, root, an unknown account and one account for each combination of Match blocks and shells are checked. Exit status: 0 nothing found, 1 findings, more than 1 the check could not run (sysexits(3)). Needs root; nothing is changed.',
  run,
});

function checkEndpoints({ port = [], address = [] }: LintArguments): void {
  for (const one of port) checkPort(Number(one), one);
  for (const one of address)
    if (!/^[0-9A-Fa-f:.]+$/.test(one))
      throw usageError(helpOf, `--address ${one}: not an IP address`);
}

async function run(args: LintArguments, terminal: Terminal): Promise<number> {
  checkEndpoints(args);
  const { allFindings, lintSshd } = await import('../../setup/sshd-lint/lint-sshd.ts');
  const { lintJson, lintText } = await import('./lint-report.ts');
  const { sshd, login, pam } = args;
  const config = args['sshd-config'] ?? '/etc/ssh/sshd_config';
  const overlay = (await overlayOf(args))?.resolve;
  const lint = await withProgress(
    terminal,
    () => 'waiting for sshd',
    () =>
      lintSshd({
        config: resolve(config),
        sshd: resolve(sshd),
        login: resolve(login),
        settings: '/etc/berth/ssh.yml',
        overlay,
        ...(pam !== undefined && { pam: resolve(pam) }),
        users: args.user ?? [],
        groups: args.group ?? [],
        addresses: args.address ?? [],
        ports: (args.port ?? []).map(Number),
      }),
  );
  const { hostConfig, kindNames } = await import('../../setup/sshd-kinds/kind.ts');
  const isHostsOwn = resolve(config) === hostConfig && kindNames().length > 0;
  const next = isHostsOwn
    ? [
        "this is the host's own sshd; for those of sessions: berth sshd check",
        'a ForceCommand that is not below a Match is for everybody, also for root',
      ]
    : [];
  const text =
    args.output === 'json'
      ? lintJson(lint, next)
      : lintText(lint, { colour: wantsColour(terminal.stdout, terminal.env) }, next);
  terminal.stdout.write(text);
  return allFindings(lint).length > 0 ? 1 : 0;
}
