import type { SshdConnection } from './match.ts';
import type { SshdOptions } from './options.ts';
import { matchesAnyGroup, matchesPattern, userOfEntry } from './patterns.ts';
import { keysCommands } from './relevant-paths.ts';
import { sessionStart } from './session-start-findings.ts';
import { advice, critical, type SshdFinding, type SshdSample, weakness } from './sshd-finding.ts';

/**
 * The keyword by which sshd refuses this account everywhere, as monitor.c and auth.c decide: RefuseConnection, DenyUsers,
 * AllowUsers, DenyGroups, AllowGroups, PermitRootLogin. If an entry depends on the client's address (`USER@HOST`), the account counts as
 * admitted.
 */
export function refusingKeyword(
  options: SshdOptions,
  { user, groups }: Pick<SshdConnection, 'user' | 'groups'>,
  isRoot: boolean,
): string | undefined {
  const { denyUsers, allowUsers, denyGroups, allowGroups, permitRootLogin } = options;
  if (options.refuseConnection) return 'RefuseConnection';
  if (denyUsers.some((one) => !one.includes('@') && matchesPattern(user, one))) return 'DenyUsers';
  if (allowUsers.length > 0 && !allowUsers.some((one) => matchesPattern(user, userOfEntry(one))))
    return 'AllowUsers';
  if (denyGroups.some((one) => matchesAnyGroup(groups, one))) return 'DenyGroups';
  if (allowGroups.length > 0 && !allowGroups.some((one) => matchesAnyGroup(groups, one)))
    return 'AllowGroups';
  if (isRoot && permitRootLogin === 'no') return 'PermitRootLogin';
  return undefined;
}

/** Findings about who can log in, and about connections that ended. */
export function accessFindings(options: SshdOptions, sample: SshdSample): SshdFinding[] {
  const findings: SshdFinding[] = [];
  const { forced, loginShell } = sessionStart(options, sample);
  if (sample.isRoot) {
    const contained = forced || loginShell || options.permitRootLogin === 'forced-commands-only';
    findings.push(
      (contained ? weakness : critical)(
        'root-login',
        `root can log in with SSH (PermitRootLogin ${options.permitRootLogin})`,
        'PermitRootLogin no, as soon as admins can log in with accounts of their own',
      ),
    );
  }
  if (!options.strictModes)
    findings.push(
      weakness(
        'strict-modes-off',
        "anyone who can write to a user's home, such as its group, can add a key and log in as that user",
        'StrictModes yes',
      ),
    );
  if (options.permitEmptyPasswords)
    findings.push(
      weakness(
        'empty-passwords',
        'anyone can log in to accounts without a password',
        'PermitEmptyPasswords no',
      ),
    );
  findings.push(...keyFindings(options, sample));
  if (!options.usePam)
    findings.push(
      weakness(
        'pam-off',
        'without a PAM session, processes of ended connections keep running, and expired accounts can log in',
        'UsePAM yes',
      ),
    );
  if (options.clientAliveInterval === 0 || options.clientAliveCountMax === 0)
    findings.push(
      advice(
        'client-alive-off',
        'the session of a client that disappeared remains until its TCP connection times out, or forever',
        'ClientAliveInterval 30',
      ),
    );
  if (options.maxSessions < 10)
    findings.push(
      advice(
        'max-sessions-low',
        `MaxSessions ${options.maxSessions} is too low for ControlMaster and VS Code`,
        'MaxSessions 10',
      ),
    );
  if (options.penaltiesDenyAll)
    findings.push(
      advice(
        'penalties-deny-all',
        'whoever fails to log in from enough addresses, such as those of one IPv6 network, makes sshd refuse everybody',
        'PerSourcePenalties overflow:permissive',
      ),
    );
  const silent = options.channelTimeouts.find((one) =>
    /^(?:session|global|\*).*=(?!0+\D?$)/.test(one),
  );
  if (silent !== undefined)
    findings.push(
      advice(
        'channel-timeout',
        `sshd ends sessions in which nothing is sent for a time, also a command without output (ChannelTimeout ${silent})`,
        'ChannelTimeout none, and `timeouts.idle` of the profile',
      ),
    );
  return findings;
}

/** Findings about programs and files that decide which keys and certificates are valid. */
function keyFindings(options: SshdOptions, { paths, sharedKeyFiles }: SshdSample): SshdFinding[] {
  const findings: SshdFinding[] = [];
  for (const { keyword, program, user } of keysCommands(options)) {
    const check = paths.get(program);
    // A symbolic link in its place could lead to a program of root, which sshd would run.
    const refused = check?.unsafe !== undefined && check.linkable !== true;
    if (refused)
      findings.push(
        advice(
          'keys-command-refused',
          `sshd refuses to run ${keyword} ${program}, so no key from it is accepted: ${check.unsafe ?? ''}`,
          `make ${program} and the directories above it writable by root only, mode 0755`,
          keyword,
        ),
      );
    else if (check?.open !== undefined)
      findings.push(
        critical(
          'program-writable',
          `${keyword} decides whose keys are valid, and ${check.open.message}`,
          check.open.closedBy,
          keyword,
        ),
      );
    if (user === 'root' && !refused)
      findings.push(
        weakness(
          'keys-command-as-root',
          `${keyword} ${program} runs as root with input from clients that are not authenticated`,
          `set ${keyword}User to a separate account`,
          `${keyword}User`,
        ),
      );
  }
  for (const [keyword, path] of options.ownPrograms) {
    const open = paths.get(path)?.open;
    if (open !== undefined)
      findings.push(
        critical(
          'program-writable',
          `sshd runs ${keyword} as root, and ${open.message}`,
          open.closedBy,
          keyword,
        ),
      );
  }
  if (!options.pubkeyAuthentication) return findings;
  const keyFiles = [
    [
      'TrustedUserCAKeys',
      [options.trustedUserCaKeys ?? ''],
      'the CA keys that can sign user certificates for every account',
    ],
    ['RevokedKeys', options.revokedKeys, 'the keys that are no longer valid'],
  ] as const;
  for (const [directive, files, of] of keyFiles)
    for (const { open } of files.flatMap((file) => paths.get(file) ?? []))
      if (open !== undefined)
        findings.push(
          critical(
            'ca-keys-writable',
            `${directive} names ${of}, and ${open.message}`,
            open.closedBy,
            directive,
          ),
        );
  const shared = options.authorizedKeysFiles.filter((file) => sharedKeyFiles.has(file));
  if (shared.length > 0)
    findings.push(
      weakness(
        'authorized-keys-shared',
        `each key in ${shared.join(', ')} opens every account: AuthorizedKeysFile is the same file for all`,
        'AuthorizedKeysFile /etc/ssh/authorized_keys/%u',
      ),
    );
  for (const [directive, files] of [
    ['AuthorizedKeysFile', options.authorizedKeysFiles],
    ['AuthorizedPrincipalsFile', [options.authorizedPrincipalsFile ?? '']],
  ] as const) {
    const file = files.find((one) => fitsOtherNames.test(one));
    if (file !== undefined)
      findings.push(
        weakness(
          'authorized-keys-shared',
          `${directive} ${file} also takes the files of accounts with a longer name, whose keys then open the shorter one`,
          `${directive} /etc/ssh/authorized_keys/%u/*`,
          directive,
        ),
      );
  }
  return findings;
}

/** A wildcard beside the name of the account, which sshd knows since OpenSSH 10.0; files in homes must be the user's. */
const fitsOtherNames = /^\/.*(?:[*?\]][^/]*%[uU]|%[uU][^/]*[*?[])/;

/** An account that sshd admits, with its effective options. */
interface AdmittedAccount {
  readonly user: string;
  /** How many other accounts it stands for. */
  readonly alike: number;
  readonly options: Pick<SshdOptions, 'authorizedKeysFiles'>;
}

/** Files of AuthorizedKeysFile that several accounts have: their paths contain neither name nor home. */
export function sharedKeyFiles(accounts: readonly AdmittedAccount[]): Set<string> {
  const users = new Map<string, Map<string, number>>();
  for (const { user, alike, options } of accounts)
    for (const file of options.authorizedKeysFiles.filter(isTheSameForAll))
      users.set(file, (users.get(file) ?? new Map<string, number>()).set(user, 1 + alike));
  const several = [...users].filter(
    ([, counts]) => [...counts.values()].reduce((sum, count) => sum + count, 0) > 1,
  );
  return new Set(several.map(([file]) => file));
}

/** `%%` is a percent sign; a relative path starts in the home. */
function isTheSameForAll(file: string): boolean {
  return file.startsWith('/') && !/%[uhU]/.test(file.replaceAll('%%', ''));
}
