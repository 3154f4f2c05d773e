import type { SshdFinding, SshdSample } from './finding.ts';
import { groupsMatch, type SshdConnection } from './match.ts';
import type { SshdOptions } from './options.ts';
import { keysCommands } from './paths.ts';
import { matchesPattern } from './patterns.ts';
import { sessionStart } from './session-start.ts';

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
  findings.push(...keyFindings(options, sample));
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

/** What says which keys and certificates are an account's. */
function keyFindings(options: SshdOptions, { paths, sharedKeyFiles }: SshdSample): SshdFinding[] {
  const findings: SshdFinding[] = [];
  for (const { keyword, program, user } of keysCommands(options)) {
    const check = paths.get(program);
    // Who can put a link to a program of root's there has sshd run that.
    const refused = check?.unsafe !== undefined && check.linkable !== true;
    if (refused)
      findings.push({
        code: 'keys-command-refused',
        severity: 'advice',
        message: `sshd does not run ${keyword} ${program}, so nobody comes in by it: ${check.unsafe ?? ''}`,
        closedBy: `a program of root's at ${program}, mode 0755, in folders that only root writes`,
        directive: keyword,
      });
    else if (check?.open !== undefined)
      findings.push({
        code: 'program-writable',
        severity: 'door',
        message: `${keyword} says whose keys are good, and ${check.open.message}`,
        closedBy: check.open.closedBy,
        directive: keyword,
      });
    if (user === 'root' && !refused)
      findings.push({
        code: 'keys-command-as-root',
        severity: 'weakness',
        message: `${keyword} ${program} runs as root with what a stranger sends`,
        closedBy: `${keyword}User with an account of its own`,
        directive: `${keyword}User`,
      });
  }
  const authority = options.pubkeyAuthentication ? options.trustedUserCaKeys : undefined;
  const open = paths.get(authority ?? '')?.open;
  if (authority !== undefined && open !== undefined)
    findings.push({
      code: 'ca-keys-writable',
      severity: 'door',
      message: `who writes TrustedUserCAKeys signs certificates for every account, and ${open.message}`,
      closedBy: open.closedBy,
    });
  const shared = options.authorizedKeysFiles.filter((file) => sharedKeyFiles.has(file));
  if (options.pubkeyAuthentication && shared.length > 0)
    findings.push({
      code: 'authorized-keys-shared',
      severity: 'weakness',
      message: `each key in ${shared.join(', ')} opens every account: AuthorizedKeysFile is the same for all`,
      closedBy: 'AuthorizedKeysFile /etc/ssh/authorized_keys/%u',
    });
  return findings;
}
