import type { loginOptions } from '../../src/sessions/request/session-request.ts';
import type { ManPage, Release } from './command-pages.ts';
import { entry, escaped, example, page, text } from './roff.ts';

const options: Readonly<
  Record<keyof typeof loginOptions, { readonly value: string; readonly meaning: string }>
> = {
  '--profile': {
    value: 'NAME',
    meaning:
      'This profile, whatever the rules say. Only root can set it, in the configuration of sshd.',
  },
  '--config': { value: 'FILE', meaning: 'Path of ssh.yml [default: /etc/berth/ssh.yml].' },
};

const withValue = (option: string, value: string): string =>
  `\\fB${escaped(option)}\\fR \\fI${value}\\fR`;

/** berth-login(8): the program that is no command of `berth`. */
export function loginPage(release: Release): ManPage {
  const roff = page({ name: 'berth-login', section: 8, ...release }, [
    ['NAME', ['berth\\-login \\- start an SSH session in the container or the pod of its user']],
    [
      'SYNOPSIS',
      [
        '.B /usr/lib/berth/shell/login',
        [...Object.entries(options), ['-c', { value: 'COMMAND' }] as const]
          .map(([option, { value }]) => `[${withValue(option, value)}]`)
          .join(' '),
      ],
    ],
    [
      'DESCRIPTION',
      [
        text(
          'sshd runs it as the user, as `ForceCommand` or as the login shell of the account. It chooses the profile by the rules of berth-ssh.yml(5), starts the container or the pod if it does not run, and becomes the session in it: a shell, a command, scp, sftp or rsync.',
        ),
        '.PP',
        text(
          'A refused session prints one line with a code in brackets and a session number. `journalctl -t berth | grep NUMBER` shows the cause; `berth explain CODE` says what to do.',
        ),
      ],
    ],
    [
      'OPTIONS',
      [
        ...Object.entries(options).flatMap(([option, { value, meaning }]) =>
          entry(withValue(option, value), text(meaning)),
        ),
        ...entry(
          withValue('-c', 'COMMAND'),
          text('The command of the client, as a login shell gets it from sshd.'),
        ),
      ],
    ],
    ['FILES', entry('.I /etc/berth/ssh.yml', 'Who gets which profile.')],
    [
      'EXAMPLES',
      [
        text('For the members of a group, in a file of sshd_config(5):'),
        ...example(['Match Group hpc', '    ForceCommand /usr/lib/berth/shell/login']),
        '.PP',
        text('At a port of its own, always with the profile gpu:'),
        ...example([
          'Match LocalPort 2222',
          '    ForceCommand /usr/lib/berth/shell/login --profile gpu',
        ]),
        '.PP',
        text('As the login shell of an account, so that sshd starts no other shell:'),
        ...example(['usermod --shell /usr/lib/berth/shell/login alice']),
      ],
    ],
    [
      'SEE ALSO',
      [
        '\\fBberth\\fR(8), \\fBberth\\-sshd\\fR(8), \\fBberth\\-sessions\\fR(8), \\fBberth\\-ssh.yml\\fR(5), \\fBberth\\-profile\\fR(5), \\fBsshd_config\\fR(5)',
      ],
    ],
  ]);
  return { file: 'berth-login.8', roff };
}
