import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { shownNameOfUid } from '../../system/identity/name-of-uid.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { directoryNames } from '../../system/if-present.ts';
import { initialEnvironment } from '../../system/processes.ts';
import { runProgram } from '../../system/run-program.ts';
import { hasSystemd, propertiesOfUnits } from '../../system/systemd-units.ts';
import { replaceableFindings } from './lint-file-permissions.ts';
import { pamFileFindings } from './lint-pam.ts';
import { critical, type SshdFinding, weakness } from './rules/sshd-finding.ts';

/** Of Debian and of Red Hat: crontabs, and jobs of at(1). */
const spools = ['cron/crontabs', 'cron', 'cron/atjobs', 'at'].map((name) => `/var/spool/${name}`);
const firstUserUid = 1000;
const mostNamed = 5;

/**
 * Users with a crontab or a job of at(1) on this host. cron starts their commands with /bin/sh, whatever their shell is, and a
 * session can change the files of the home that those commands run.
 */
export async function cronFindings(): Promise<SshdFinding[]> {
  const uids = spools.flatMap((spool) =>
    directoryNames(spool).flatMap((name) => {
      const status = lstatSync(join(spool, name), { throwIfNoEntry: false });
      return status?.isFile() === true && status.uid >= firstUserUid ? [status.uid] : [];
    }),
  );
  const users = [...new Set(uids)].sort((one, other) => one - other);
  if (users.length === 0) return [];
  const names = await Promise.all(users.slice(0, mostNamed).map(shownNameOfUid));
  const more = users.length > mostNamed ? ' and others' : '';
  return [
    weakness(
      'cron-runs-on-host',
      `cron and at run commands of ${names.join(', ')}${more} on this host, outside of sessions, and sessions can change the files of the home that these run`,
      'crontab -u NAME -r and atrm for accounts of sessions',
    ),
  ];
}

/** Stands for the users without files of their own: nobody, whose manager never runs. */
const anyUser = '65534';

const unitDirectories = ['/etc/systemd/system', '/run/systemd/system', '/usr/lib/systemd/system'];

/**
 * Whether systemd's manager of a user, which runs on the host, would run what a session writes into the home: units of
 * ~/.config/systemd, variables of ~/.config/environment.d, D-Bus services. Asks systemd, so that a drop-in that is not
 * loaded does not count, and looks at the managers that run.
 *
 * @throws {BerthError} `systemctl-failed`
 */
export async function userManagerFindings(): Promise<SshdFinding[]> {
  if (!hasSystemd()) return [];
  const own = unitDirectories
    .flatMap(directoryNames)
    .flatMap((name) => /^user@([1-9][0-9]*)\.service(?:\.d)?$/.exec(name)?.[1] ?? []);
  const units = [...new Set([anyUser, ...own])].map((uid) => `user@${uid}.service`);
  const properties = ['Id', 'LoadState', 'Environment', 'MainPID'];
  const all = await propertiesOfUnits([...units, 'user@*.service'], properties);
  const findings = new Map<string, SshdFinding>();
  for (const unit of all) {
    const uid = /^user@([1-9][0-9]*)\.service$/.exec(unit.get('Id') ?? '')?.[1];
    if (uid === undefined || unit.get('LoadState') !== 'loaded') continue;
    const pid = Number(unit.get('MainPID'));
    const found =
      (await finding(uid, environmentWords(unit.get('Environment') ?? ''))) ??
      (pid > 0 ? await finding(uid, initialEnvironment(pid), pid) : undefined);
    // One for all users is enough.
    if (found !== undefined) findings.set(uid, found);
    if (found !== undefined && uid === anyUser) break;
  }
  const pam = await pamFileFindings('systemd-user');
  return [...findings.values(), ...pam.filter(({ code }) => code === 'pam-user-environment')];
}

/** @param pid of a manager that runs */
async function finding(
  uid: string,
  environment: readonly string[],
  pid?: number,
): Promise<SshdFinding | undefined> {
  const reads = managerReads(environment);
  if ('directories' in reads) {
    const [writable] = (
      await Promise.all(
        reads.directories.map((path) => replaceableFindings(path, 'user-manager-reads-home')),
      )
    ).flat();
    return writable;
  }
  // One that has just ended.
  if (pid !== undefined && environment.length === 0) return undefined;
  const dropIn = installedPath('share/etc/systemd/user@.service.d/berth.conf');
  const unit = `user@${uid}.service`;
  if (pid === undefined && uid === anyUser)
    return critical(
      'user-manager-reads-home',
      `at a login, systemd starts the user's own manager (user@UID.service) on this host, and it runs units and reads variables that sessions can write to ~/.config: it has no ${reads.home}`,
      `copy ${dropIn} to /etc/systemd/system/user@.service.d/berth.conf, then systemctl daemon-reload`,
    );
  const name = await shownNameOfUid(Number(uid));
  if (pid !== undefined)
    return critical(
      'user-manager-reads-home',
      `systemd's manager of ${name} (${unit}, PID ${pid}) was started with units and variables of the home, before the drop-in was loaded`,
      `systemctl restart ${unit} (this ends the containers of ${name})`,
    );
  return weakness(
    'user-manager-reads-home',
    `a file of this host gives ${unit} the usual directories again, also those in the home of ${name}: it has no ${reads.home}`,
    `if sessions of ${name} are containers, remove what changes ${unit} (systemctl cat ${unit}), then systemctl daemon-reload`,
  );
}

/**
 * What the variables of systemd's manager of a user (user@UID.service) decide, in systemd's path-lookup.c and path-util.c:
 * without them each is a directory of the home. An empty part of SYSTEMD_UNIT_PATH stands for the usual directories.
 */
const wanted = ['SYSTEMD_UNIT_PATH', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME'] as const;

/**
 * What a manager with this environment reads.
 *
 * @param environment `NAME=value` each
 * @returns the variable because of which it reads the home, or the directories that it reads instead
 */
function managerReads(
  environment: readonly string[],
): { readonly home: string } | { readonly directories: readonly string[] } {
  const directories: string[] = [];
  for (const name of wanted) {
    const value = environment.findLast((one) => one.startsWith(`${name}=`))?.slice(name.length + 1);
    const parts = value?.split(':') ?? [''];
    if (!parts.every((part) => part.startsWith('/'))) return { home: name };
    directories.push(...parts);
  }
  return { directories };
}

/** The property Environment of a unit, as `systemctl show` prints it: words, quoted where they need it. */
function environmentWords(text: string): string[] {
  return (text.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? []).map((word) =>
    word.startsWith('"') ? word.slice(1, -1).replaceAll(/\\(.)/g, '$1') : word,
  );
}

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
      '/usr/sbin/postconf',
      'allow_mail_to_commands',
      'mailbox_command',
      'mailbox_command_maps',
      'mailbox_transport',
    ],
    runs: /^allow_mail_to_commands =.*\bforward\b|\b(?:procmail|maildrop)\b/m,
    closedBy:
      'postconf -e allow_mail_to_commands=alias; remove procmail and maildrop from mailbox_command, mailbox_command_maps and mailbox_transport; postfix reload',
  },
  ...['/usr/sbin/exim4', '/usr/sbin/exim'].map((file) => ({
    name: 'Exim',
    file,
    argv: [file, '-bP', 'routers'],
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
    const { error, stdout } = await runProgram(program, args, { timeoutMs: 5_000 });
    if (error === undefined && !runs.test(stdout)) continue;
    const code = 'mail-runs-home-commands';
    findings.push(
      error === undefined
        ? critical(
            code,
            `${name} delivers mail on this host and runs commands of ~/.forward, ~/.procmailrc or ~/.mailfilter, which sessions can write, as the user`,
            closedBy,
          )
        : weakness(
            code,
            `${argv.join(' ')} failed, so it is not known whether ${name} runs commands of files that sessions can write`,
            `correct ${file}, then run berth sshd lint again`,
          ),
    );
  }
  return findings;
}
