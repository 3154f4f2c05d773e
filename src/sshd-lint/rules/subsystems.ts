import type { SshdFinding, SshdSample } from './finding.ts';
import type { SshdOptions } from './options.ts';
import { sessionStart } from './session-start.ts';

/**
 * Subsystems, `~/.ssh/rc` and chroot: what session.c of sshd does beside the command. ForceCommand
 * replaces each subsystem; without it `internal-sftp` is sshd's own code and runs no shell at all.
 */
export function subsystemFindings(options: SshdOptions, sample: SshdSample): SshdFinding[] {
  const { forceCommand, subsystems } = options;
  const { loginShell } = sessionStart(options, sample);
  const forced = forceCommand !== undefined;
  const closedBy = `ForceCommand ${sample.login.path}`;
  const findings: SshdFinding[] = [];
  for (const { name, command } of subsystems) {
    if (forced || !/^internal-sftp(?:\s|$)/.test(command)) continue;
    findings.push({
      code: 'sftp-on-host',
      severity: 'door',
      message: `Subsystem ${name} ${command} is sshd itself: it serves the host's files and asks no login shell`,
      closedBy: `Subsystem ${name} /usr/lib/openssh/sftp-server, and ${closedBy}`,
    });
  }
  const own = ownFilesThatGrant(options);
  if (!forced && loginShell && subsystems.length > 0 && own !== undefined)
    findings.push({
      code: 'sftp-by-key-option',
      severity: 'door',
      message: `command="internal-sftp" in ${own} makes sshd serve the host's files and asks no login shell`,
      closedBy,
    });
  if (!subsystems.some(({ name }) => name === 'sftp'))
    findings.push({
      code: 'no-sftp-subsystem',
      severity: 'advice',
      message: 'sftp, and scp since OpenSSH 9.0, end with "subsystem request failed"',
      closedBy: 'Subsystem sftp /usr/lib/openssh/sftp-server',
    });
  // session.c: a forced command of the configuration leaves ~/.ssh/rc alone.
  if (options.permitUserRc && !forced)
    findings.push({
      code: 'user-rc',
      severity: loginShell ? 'weakness' : 'door',
      message: loginShell
        ? '~/.ssh/rc costs each connection a second session, before its own one'
        : '~/.ssh/rc runs on the host before each session',
      closedBy: 'PermitUserRC no',
    });
  if (options.chrootDirectory !== undefined && !/^\s*internal-sftp/.test(forceCommand ?? ''))
    findings.push({
      code: 'chroot-directory',
      severity: 'weakness',
      message: `below ${options.chrootDirectory} there is neither the login nor podman: another program would run as ${sample.login.path}`,
      closedBy: 'ChrootDirectory none',
    });
  if (!options.permitTty)
    findings.push({
      code: 'no-tty',
      severity: 'advice',
      message: 'no terminal is given: shells, editors and job control do not work',
      closedBy: 'PermitTTY yes',
    });
  return findings;
}

/** A file that the user writes and whose lines may carry `command=`. */
function ownFilesThatGrant(options: SshdOptions): string | undefined {
  if (!options.pubkeyAuthentication) return undefined;
  const principals =
    options.trustedUserCaKeys === undefined ? [] : [options.authorizedPrincipalsFile ?? ''];
  return [...options.authorizedKeysFiles, ...principals].find(isOfTheUser);
}

/** Relative to the home, or with the home in it; a folder per user elsewhere is root's to keep. */
function isOfTheUser(path: string): boolean {
  return path !== '' && (!path.startsWith('/') || path.includes('%h') || path.startsWith('/home/'));
}
