import type { ManPage, Release } from './command-pages.ts';
import { entry, page, text } from './roff.ts';

/** berth-login(8): the program that is no command of `berth`. */
export function loginPage(release: Release): ManPage {
  const roff = page({ name: 'berth-login', section: 8, ...release }, [
    ['NAME', ['berth\\-login \\- start an SSH session in the container or the pod of its user']],
    [
      'SYNOPSIS',
      [
        '.B /usr/lib/berth/shell/login',
        '[\\fB\\-\\-profile\\fR \\fINAME\\fR] [\\fB\\-\\-config\\fR \\fIFILE\\fR] [\\fB\\-c\\fR \\fICOMMAND\\fR]',
      ],
    ],
    [
      'DESCRIPTION',
      [
        text(
          'sshd runs it as the user, as `ForceCommand` or as the login shell of the account. It chooses the profile by the rules of ssh.yml(5), starts the container or the pod if it does not run, and becomes the session in it: a shell, a command, scp, sftp or rsync.',
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
        ...entry(
          '\\fB\\-\\-profile\\fR \\fINAME\\fR',
          text(
            'This profile, whatever the rules say. Only root can set it, in the configuration of sshd.',
          ),
        ),
        ...entry('\\fB\\-\\-config\\fR \\fIFILE\\fR', text('Another ssh.yml.')),
        ...entry(
          '\\fB\\-c\\fR \\fICOMMAND\\fR',
          text('The command of the client, as a login shell gets it from sshd.'),
        ),
      ],
    ],
    ['FILES', entry('.I /etc/berth/ssh.yml', 'Who gets which profile.')],
    [
      'SEE ALSO',
      [
        '\\fBberth\\fR(8), \\fBberth\\-sshd\\fR(8), \\fBberth\\-sessions\\fR(8), \\fBssh.yml\\fR(5), \\fBberth\\-profile\\fR(5), \\fBsshd_config\\fR(5)',
      ],
    ],
  ]);
  return { file: 'berth-login.8', roff };
}
