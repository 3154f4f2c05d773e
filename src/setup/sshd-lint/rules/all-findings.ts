import { accessFindings } from './access-findings.ts';
import { environmentFindings } from './environment-findings.ts';
import { forwardFindings } from './forwarding-findings.ts';
import type { SshdOptions } from './options.ts';
import { sessionStart, sessionStartFindings } from './session-start-findings.ts';
import {
  advice,
  bySeverity,
  critical,
  type SshdFinding,
  type SshdSample,
  weakness,
} from './sshd-finding.ts';

/**
 * All findings for the effective options of one account, critical ones first. The rules follow OpenSSH's session.c,
 * serverloop.c and auth.c.
 */
export function sshdFindings(options: SshdOptions, sample: SshdSample): SshdFinding[] {
  // root has the host anyway, and no session: it is enough to say so, and a forced command would lock it out.
  if (sample.isRoot) return bySeverity(accessFindings(options, sample));
  return bySeverity([
    ...sessionStartFindings(options, sample),
    ...subsystemFindings(options, sample),
    ...environmentFindings(options, sample),
    ...forwardFindings(options, sample),
    ...accessFindings(options, sample),
  ]);
}

/**
 * Findings about subsystems, `~/.ssh/rc`, chroot and terminals (session.c of OpenSSH). ForceCommand replaces every
 * subsystem; without it `internal-sftp` runs inside sshd and starts no shell.
 */
function subsystemFindings(options: SshdOptions, sample: SshdSample): SshdFinding[] {
  const { forceCommand, subsystems } = options;
  const { loginShell } = sessionStart(options, sample);
  const forced = forceCommand !== undefined;
  const closedBy = `ForceCommand ${sample.login.path}`;
  const findings: SshdFinding[] = [];
  for (const { name, command } of subsystems) {
    if (forced || !/^internal-sftp(?:\s|$)/.test(command)) continue;
    findings.push(
      critical(
        'sftp-on-host',
        `Subsystem ${name} ${command} runs inside sshd: it serves the host's files and starts no login shell`,
        `Subsystem ${name} /usr/lib/openssh/sftp-server, and ${closedBy}`,
      ),
    );
  }
  const own = ownFilesThatGrant(options);
  if (!forced && loginShell && subsystems.length > 0 && own !== undefined)
    findings.push(
      critical(
        'sftp-by-key-option',
        `command="internal-sftp" in ${own} makes sshd serve the host's files without starting the login shell`,
        closedBy,
      ),
    );
  if (!subsystems.some(({ name }) => name === 'sftp'))
    findings.push(
      advice(
        'no-sftp-subsystem',
        'sftp, and scp since OpenSSH 9.0, fail with "subsystem request failed"',
        'Subsystem sftp /usr/lib/openssh/sftp-server',
      ),
    );
  // session.c: with ForceCommand in the configuration, sshd does not run ~/.ssh/rc.
  if (options.permitUserRc && !forced)
    findings.push(
      (loginShell ? weakness : critical)(
        'user-rc',
        loginShell
          ? '~/.ssh/rc starts a second session before each session'
          : '~/.ssh/rc runs on the host before each session',
        'PermitUserRC no',
      ),
    );
  if (options.chrootDirectory !== undefined && !/^\s*internal-sftp/.test(forceCommand ?? ''))
    findings.push(
      weakness(
        'chroot-directory',
        `neither the login program nor podman exists below ${options.chrootDirectory}: another program would run as ${sample.login.path}`,
        'ChrootDirectory none',
      ),
    );
  if (!options.permitTty)
    findings.push(
      advice(
        'no-tty',
        'sshd allocates no terminal: shells, editors and job control do not work',
        'PermitTTY yes',
      ),
    );
  return findings;
}

/** A file that the user can write and whose lines may contain `command=`. */
function ownFilesThatGrant(options: SshdOptions): string | undefined {
  if (!options.pubkeyAuthentication) return undefined;
  const principals =
    options.trustedUserCaKeys === undefined ? [] : [options.authorizedPrincipalsFile ?? ''];
  return [...options.authorizedKeysFiles, ...principals].find(isOfTheUser);
}

/** Relative to the home, or containing the home; directories elsewhere are assumed to belong to root. */
function isOfTheUser(path: string): boolean {
  return path !== '' && (!path.startsWith('/') || path.includes('%h') || path.startsWith('/home/'));
}
