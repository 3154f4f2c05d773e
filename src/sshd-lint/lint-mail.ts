import { existsSync } from 'node:fs';
import { runProgram } from '../system/run-program.ts';
import type { SshdFinding } from './rules/sshd-finding.ts';

/** A mail server that delivers to local users, and how it is asked what it reads. */
interface MailServer {
  readonly name: string;
  readonly file: string;
  readonly argv: readonly string[];
  /** In what it prints: that it runs programs which files of the home name. */
  readonly runs: RegExp;
  readonly closedBy: string;
}

const servers: readonly MailServer[] = [
  {
    name: 'Postfix',
    file: '/etc/postfix/main.cf',
    // local(8)
    argv: [
      ...['/usr/sbin/postconf', 'allow_mail_to_commands'],
      ...['mailbox_command', 'mailbox_command_maps', 'mailbox_transport'],
    ],
    runs: /^allow_mail_to_commands =.*\bforward\b|\b(?:procmail|maildrop)\b/m,
    closedBy:
      'postconf -e allow_mail_to_commands=alias; remove procmail and maildrop from mailbox_command, mailbox_command_maps and mailbox_transport; postfix reload',
  },
  ...['/usr/sbin/exim4', '/usr/sbin/exim'].map((file) => ({
    ...{ name: 'Exim', file, argv: [file, '-bP', 'routers'] },
    runs: /^file = .*\.forward|^transport = (?:procmail|maildrop)/m,
    closedBy: 'remove the routers userforward, procmail and maildrop, then reload Exim',
  })),
];

/**
 * Mail servers of this host that run commands of ~/.forward, ~/.procmailrc or ~/.mailfilter, which a session can write: a mail
 * to the user starts them, and a session can send it.
 */
export async function mailFindings(): Promise<SshdFinding[]> {
  const findings: SshdFinding[] = [];
  for (const { name, file, argv, runs, closedBy } of servers) {
    const [program = '', ...args] = argv;
    if (!existsSync(file) || !existsSync(program)) continue;
    const { error, stdout } = await runProgram(program, args, { timeout: 5_000 });
    if (error === undefined && !runs.test(stdout)) continue;
    const code = 'mail-runs-home-commands';
    findings.push(
      error === undefined
        ? {
            ...{ code, severity: 'door', closedBy },
            message: `${name} delivers mail on this host and runs commands of ~/.forward, ~/.procmailrc or ~/.mailfilter, which sessions can write, as the user`,
          }
        : {
            ...{ code, severity: 'weakness' },
            message: `${argv.join(' ')} failed, so it is not known whether ${name} runs commands of files that sessions can write`,
            closedBy: `correct ${file}, then run berth sshd lint again`,
          },
    );
  }
  return findings;
}
