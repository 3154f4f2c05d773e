import type { SshdFinding, SshdFindingCode } from './sshd-finding.ts';
import { type MatchBlock, type SshdConnection, matchesConnection } from './match.ts';
import { matchesAnyGroup, matchesPattern, userOfEntry } from './patterns.ts';

/** One line of sshd_config(5) other than Match. */
export interface SshdDirective extends Pick<MatchBlock, 'file' | 'line' | 'criteria'> {
  /** Lower case. */
  readonly keyword: string;
  readonly args: readonly string[];
}

/** The keyword that each code is about, in lower case. */
const keywords: Partial<Readonly<Record<SshdFindingCode, string>>> = {
  'forced-command-other': 'forcecommand',
  'forced-command-relative': 'forcecommand',
  'forced-command-user-text': 'forcecommand',
  'forced-command-metacharacters': 'forcecommand',
  'forced-command-token': 'forcecommand',
  'forced-command-arguments': 'forcecommand',
  'forced-command-internal-sftp': 'forcecommand',
  'no-forced-command': 'forcecommand',
  'sftp-on-host': 'subsystem',
  'user-rc': 'permituserrc',
  'chroot-directory': 'chrootdirectory',
  'no-tty': 'permittty',
  'stream-local-forwarding': 'allowstreamlocalforwarding',
  'tcp-forwarding': 'allowtcpforwarding',
  'gateway-ports': 'gatewayports',
  'permit-tunnel': 'permittunnel',
  'x11-listens-everywhere': 'x11uselocalhost',
  'accept-env': 'acceptenv',
  'permit-user-environment': 'permituserenvironment',
  'set-env': 'setenv',
  'root-login': 'permitrootlogin',
  'strict-modes-off': 'strictmodes',
  'empty-passwords': 'permitemptypasswords',
  'authorized-keys-shared': 'authorizedkeysfile',
  'ca-keys-writable': 'trustedusercakeys',
  'pam-off': 'usepam',
  'client-alive-off': 'clientaliveinterval',
  'max-sessions-low': 'maxsessions',
  'penalties-deny-all': 'persourcepenalties',
  'channel-timeout': 'channeltimeout',
  'port-unprivileged': 'port',
  'balancer-penalties': 'persourcepenalties',
  'balancer-source-startups': 'persourcemaxstartups',
  'balancer-net-block': 'persourcenetblocksize',
  'balancer-max-startups': 'maxstartups',
  'balancer-use-dns': 'usedns',
};

/**
 * `FILE:LINE` of the directive that a finding is about: the first one that sshd applies to this connection.
 *
 * @returns undefined if the value is sshd's default, or if the finding is about no directive.
 */
export function directivePlace(
  { code, directive }: Pick<SshdFinding, 'code' | 'directive'>,
  connection: SshdConnection,
  directives: readonly SshdDirective[],
): string | undefined {
  const wanted = directive?.toLowerCase() ?? keywords[code];
  const found = directives.find(
    (one) => one.keyword === wanted && matchesConnection(one, connection) === true,
  );
  return found && `${found.file}:${found.line}`;
}

/** Accounts that sshd or PAM names; they are linted even if they are system accounts. */
export interface NamedAccounts {
  /** Patterns of AllowUsers without their host, and of `Match User`, and names in PAM's lists. */
  readonly users: readonly string[];
  /** Patterns of AllowGroups, and names in PAM's lists. */
  readonly groups: readonly string[];
}

export function namedAccounts(
  directives: readonly SshdDirective[],
  blocks: readonly Pick<MatchBlock, 'criteria'>[],
): NamedAccounts {
  const wordsOf = (keyword: string) =>
    directives.filter((one) => one.keyword === keyword).flatMap(({ args }) => args);
  const matched = blocks
    .flatMap(({ criteria }) => criteria.filter(({ name }) => name === 'user'))
    .flatMap(({ argument }) => argument.split(','));
  const users = wordsOf('allowusers').map(userOfEntry);
  return {
    users: [...new Set([...users, ...matched])].filter(isNarrow),
    groups: [...new Set(wordsOf('allowgroups'))].filter(isNarrow),
  };
}

/** Excludes `*`, which names no account in particular, and negated patterns. */
function isNarrow(pattern: string): boolean {
  return !/^(?:[*?]*$|!)/.test(pattern);
}

/** Whether the configuration names this account or one of its groups. */
export function isNamedAccount(
  { name, groups }: { readonly name: string; readonly groups: readonly string[] },
  named: NamedAccounts,
): boolean {
  return (
    named.users.some((pattern) => matchesPattern(name, pattern)) ||
    named.groups.some((pattern) => matchesAnyGroup(groups, pattern))
  );
}

const accessKeywords = new Set(['allowusers', 'denyusers', 'allowgroups', 'denygroups']);

/** A key that differs for accounts that AllowUsers, DenyUsers, AllowGroups or DenyGroups treat differently. */
export function accessGroupKey(
  { name, groups }: { readonly name: string; readonly groups: readonly string[] },
  directives: readonly SshdDirective[],
): string {
  return directives
    .filter(({ keyword }) => accessKeywords.has(keyword))
    .map(({ keyword, args }) =>
      args.some((entry) =>
        keyword.endsWith('users')
          ? matchesPattern(name, userOfEntry(entry))
          : matchesAnyGroup(groups, entry),
      ),
    )
    .map((fits) => (fits ? '1' : '0'))
    .join('');
}
