import type { SshdFinding, SshdSample } from './sshd-finding.ts';
import { groupsMatch, type SshdConnection } from './sshd-match.ts';
import type { SshdOptions } from './sshd-options.ts';
import { matchesPattern } from './sshd-patterns.ts';
import { sessionStart } from './sshd-session-start.ts';

/**
 * Why sshd lets this account in nowhere, as auth.c judges: DenyUsers, AllowUsers, DenyGroups,
 * AllowGroups, PermitRootLogin. Where an entry depends on the client's address (`USER@HOST`), the
 * account counts as let in.
 */
export function refusal(
  options: SshdOptions,
  { user, groups }: Pick<SshdConnection, 'user' | 'groups'>,
  isRoot: boolean,
): string | undefined {
  const { denyUsers, allowUsers, denyGroups, allowGroups, permitRootLogin } = options;
  const name = (entry: string) => entry.split('@')[0] ?? '';
  if (denyUsers.some((one) => !one.includes('@') && matchesPattern(user, one))) return 'DenyUsers';
  if (allowUsers.length > 0 && !allowUsers.some((one) => matchesPattern(user, name(one))))
    return 'AllowUsers';
  if (denyGroups.some((one) => groupsMatch(groups, one))) return 'DenyGroups';
  if (allowGroups.length > 0 && !allowGroups.some((one) => groupsMatch(groups, one)))
    return 'AllowGroups';
  if (isRoot && permitRootLogin === 'no') return 'PermitRootLogin';
  return undefined;
}

/** Who comes in, and what is left of a connection when it is over. */
export function accessFindings(options: SshdOptions, sample: SshdSample): SshdFinding[] {
  const findings: SshdFinding[] = [];
  const { forced, loginShell } = sessionStart(options, sample);
  if (sample.isRoot) {
    const contained = forced || loginShell || options.permitRootLogin === 'forced-commands-only';
    findings.push({
      code: 'root-login',
      severity: contained ? 'weakness' : 'door',
      message: `root comes in by SSH (PermitRootLogin ${options.permitRootLogin})`,
      closedBy: 'PermitRootLogin no',
    });
  }
  if (!options.strictModes)
    findings.push({
      code: 'strict-modes-off',
      severity: 'weakness',
      message: 'who may write in a home, its group too, may add a key and be that user',
      closedBy: 'StrictModes yes',
    });
  if (options.permitEmptyPasswords)
    findings.push({
      code: 'empty-passwords',
      severity: 'weakness',
      message: 'accounts without a password are open to everybody',
      closedBy: 'PermitEmptyPasswords no',
    });
  const keysUser = options.authorizedKeysCommandUser;
  if (options.authorizedKeysCommand !== undefined && keysUser === 'root')
    findings.push({
      code: 'keys-command-as-root',
      severity: 'weakness',
      message: `${options.authorizedKeysCommand} runs as root with what a stranger sends`,
      closedBy: 'AuthorizedKeysCommandUser with an account of its own',
    });
  if (!options.usePam)
    findings.push({
      code: 'pam-off',
      severity: 'weakness',
      message: 'no PAM session: what a connection started stays behind, and accounts do not expire',
      closedBy: 'UsePAM yes',
    });
  if (options.clientAliveInterval === 0 || options.clientAliveCountMax === 0)
    findings.push({
      code: 'client-alive-off',
      severity: 'advice',
      message: 'the session of a client that vanished stays until TCP gives up, or for ever',
      closedBy: 'ClientAliveInterval 30',
    });
  if (options.maxSessions < 10)
    findings.push({
      code: 'max-sessions-low',
      severity: 'advice',
      message: `MaxSessions ${options.maxSessions}: ControlMaster and VS Code open more at once`,
      closedBy: 'MaxSessions 10',
    });
  return findings;
}
