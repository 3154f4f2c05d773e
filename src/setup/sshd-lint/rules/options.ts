/** The options that matter to the rules, as sshd(8) would use them for one connection. */
export interface SshdOptions {
  /** Ports that sshd listens on: ListenAddress may name others than Port. */
  readonly ports: readonly number[];
  /** Absent if no command is forced. */
  readonly forceCommand?: string;
  readonly chrootDirectory?: string;
  readonly subsystems: readonly Subsystem[];
  /** Patterns of variable names, one per entry. */
  readonly acceptEnv: readonly string[];
  /** `NAME=VALUE` per entry. */
  readonly setEnv: readonly string[];
  /** `none`, `all`, or a pattern list of names (since OpenSSH 7.8). */
  readonly permitUserEnvironment: string;
  readonly allowTcpForwarding: ForwardDirection;
  readonly allowStreamLocalForwarding: ForwardDirection;
  readonly disableForwarding: boolean;
  /** False for `PermitOpen none` and `PermitListen none`: no TCP forwarding in that direction. */
  readonly permitOpen: boolean;
  readonly permitListen: boolean;
  readonly gatewayPorts: boolean;
  /** `no`, `yes`, `point-to-point` or `ethernet`. */
  readonly permitTunnel: string;
  readonly x11Forwarding: boolean;
  readonly x11UseLocalhost: boolean;
  readonly xauthLocation?: string;
  readonly permitUserRc: boolean;
  readonly permitTty: boolean;
  readonly usePam: boolean;
  /** Since OpenSSH 10.0; before, it was the program's name. */
  readonly pamServiceName: string;
  /** `no`, `yes`, `prohibit-password` or `forced-commands-only`. */
  readonly permitRootLogin: string;
  readonly strictModes: boolean;
  readonly permitEmptyPasswords: boolean;
  readonly pubkeyAuthentication: boolean;
  readonly authorizedKeysFiles: readonly string[];
  readonly authorizedKeysCommand?: string;
  readonly authorizedKeysCommandUser?: string;
  readonly authorizedPrincipalsFile?: string;
  readonly authorizedPrincipalsCommand?: string;
  readonly authorizedPrincipalsCommandUser?: string;
  readonly trustedUserCaKeys?: string;
  /** Since OpenSSH 10.3, more than one. */
  readonly revokedKeys: readonly string[];
  /** Keyword and path of the programs and libraries that sshd runs as root for each connection, where it names one. */
  readonly ownPrograms: readonly (readonly [keyword: string, path: string])[];
  readonly clientAliveInterval: number;
  readonly clientAliveCountMax: number;
  readonly maxSessions: number;
  /** Connections that are not logged in, from which on sshd refuses some: the first number of MaxStartups. */
  readonly maxStartups: number;
  /** Absent for `none`, and before OpenSSH 8.5. */
  readonly perSourceMaxStartups?: number;
  /** `IPV4:IPV6`. */
  readonly perSourceNetBlockSize: string;
  /** False for `no`, and before OpenSSH 9.8. */
  readonly perSourcePenalties: boolean;
  /** Addresses and CIDRs. */
  readonly perSourcePenaltyExemptList: readonly string[];
  /** With too many sources of failed logins, sshd refuses everybody. */
  readonly penaltiesDenyAll: boolean;
  /** `TYPE=TIME` per entry. */
  readonly channelTimeouts: readonly string[];
  /** Since OpenSSH 9.9. */
  readonly refuseConnection: boolean;
  readonly useDns: boolean;
  readonly allowUsers: readonly string[];
  readonly denyUsers: readonly string[];
  readonly allowGroups: readonly string[];
  readonly denyGroups: readonly string[];
}

/** SshdSessionPath is of OpenSSH 9.8 and later, SshdAuthPath of 10.0; `internal` is a SecurityKeyProvider without a path. */
const ownPrograms = ['SshdSessionPath', 'SshdAuthPath', 'SecurityKeyProvider'];

export interface Subsystem {
  readonly name: string;
  /** With arguments. */
  readonly command: string;
}

export type ForwardDirection = 'no' | 'local' | 'remote' | 'all';

/** A line of sshd_config(5), its arguments without quotes. */
export interface SshdKeywordLine {
  /** Lower case. */
  readonly keyword: string;
  readonly args: readonly string[];
}

/**
 * Parses the output of `sshd -T`: one option per line, keyword and value; lists are repeated lines or one line. Older
 * versions print keywords in lower case, the newest does not. For a keyword that a version does not print, the
 * result has that version's fixed behaviour.
 *
 * @param written Lines of the configuration, because sshd prints paths that contain blanks without quotes.
 * @returns undefined if the text is no such output.
 */
export function parseSshdOptions(
  text: string,
  written: readonly SshdKeywordLine[] = [],
): SshdOptions | undefined {
  const lines = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [, keyword, value] = /^([A-Za-z][A-Za-z0-9]*)(?:[ \t]+(.*?))?[ \t\r]*$/.exec(line) ?? [];
    if (keyword === undefined) continue;
    const values = lines.get(keyword.toLowerCase()) ?? [];
    lines.set(keyword.toLowerCase(), [...values, value ?? '']);
  }
  // Every version that has `sshd -T` prints both.
  if (!lines.has('port') || !lines.has('strictmodes')) return undefined;
  const all = (keyword: string) => lines.get(keyword) ?? [];
  const first = (keyword: string) => all(keyword)[0];
  const flag = (keyword: string, otherwise: boolean) =>
    ({ yes: true, no: false })[first(keyword) ?? ''] ?? otherwise;
  const words = (keyword: string) => all(keyword).flatMap((value) => listOf(value));
  const paths = (keyword: string) => {
    const printed = first(keyword) ?? '';
    const line = written.find((one) => one.keyword === keyword && one.args.join(' ') === printed);
    return (line?.args ?? listOf(printed)).filter((path) => !isNone(path));
  };
  const root = first('permitrootlogin') ?? 'yes';
  return {
    ports: listeningPorts(all('listenaddress'), all('port')),
    ...optional('forceCommand', first('forcecommand')),
    ...optional('chrootDirectory', first('chrootdirectory')),
    subsystems: all('subsystem').map((value) => {
      const [, name = '', command = ''] = /^(\S+)\s*(.*)$/.exec(value) ?? [];
      return { name, command };
    }),
    acceptEnv: words('acceptenv'),
    setEnv: all('setenv'),
    permitUserEnvironment: userEnvironment(first('permituserenvironment')),
    allowTcpForwarding: direction(first('allowtcpforwarding')),
    allowStreamLocalForwarding: direction(first('allowstreamlocalforwarding')),
    disableForwarding: flag('disableforwarding', false),
    permitOpen: first('permitopen') !== 'none',
    permitListen: first('permitlisten') !== 'none',
    gatewayPorts: (first('gatewayports') ?? 'no') !== 'no',
    permitTunnel: first('permittunnel') ?? 'no',
    x11Forwarding: flag('x11forwarding', false),
    x11UseLocalhost: flag('x11uselocalhost', true),
    ...optional('xauthLocation', first('xauthlocation')),
    permitUserRc: flag('permituserrc', true),
    permitTty: flag('permittty', true),
    usePam: flag('usepam', false),
    pamServiceName: first('pamservicename') ?? 'sshd',
    permitRootLogin: root === 'without-password' ? 'prohibit-password' : root,
    strictModes: flag('strictmodes', true),
    permitEmptyPasswords: flag('permitemptypasswords', false),
    pubkeyAuthentication: flag('pubkeyauthentication', true),
    authorizedKeysFiles: paths('authorizedkeysfile'),
    ...optional('authorizedKeysCommand', first('authorizedkeyscommand')),
    ...optional('authorizedKeysCommandUser', first('authorizedkeyscommanduser')),
    ...optional('authorizedPrincipalsFile', first('authorizedprincipalsfile')),
    ...optional('authorizedPrincipalsCommand', first('authorizedprincipalscommand')),
    ...optional('authorizedPrincipalsCommandUser', first('authorizedprincipalscommanduser')),
    ...optional('trustedUserCaKeys', first('trustedusercakeys')),
    revokedKeys: paths('revokedkeys'),
    ownPrograms: ownPrograms.flatMap((keyword) =>
      all(keyword.toLowerCase()).map((path) => [keyword, path] as const),
    ),
    clientAliveInterval: Number(first('clientaliveinterval') ?? 0),
    clientAliveCountMax: Number(first('clientalivecountmax') ?? 3),
    maxSessions: Number(first('maxsessions') ?? 10),
    maxStartups: Number((first('maxstartups') ?? '10').split(':')[0]),
    ...startupsPerSource(first('persourcemaxstartups')),
    perSourceNetBlockSize: first('persourcenetblocksize') ?? '32:128',
    perSourcePenalties: (first('persourcepenalties') ?? 'no') !== 'no',
    perSourcePenaltyExemptList: words('persourcepenaltyexemptlist')
      .flatMap((list) => list.split(','))
      .filter((entry) => entry !== '' && !isNone(entry)),
    penaltiesDenyAll: (first('persourcepenalties') ?? '').includes(':deny-all'),
    channelTimeouts: words('channeltimeout'),
    refuseConnection: flag('refuseconnection', false),
    useDns: flag('usedns', false),
    // One entry per line, without quotes: names of groups may contain blanks.
    allowUsers: all('allowusers'),
    denyUsers: all('denyusers'),
    allowGroups: all('allowgroups'),
    denyGroups: all('denygroups'),
  };
}

/** `[::]:22`, `192.0.2.1:2222 rdomain name`; without ListenAddress sshd prints one for each port. */
function listeningPorts(addresses: readonly string[], ports: readonly string[]): number[] {
  const bound = addresses.flatMap((address) => /:(\d+)(?:\s|$)/.exec(address)?.[1] ?? []);
  return [...new Set((bound.length > 0 ? bound : ports).map(Number))];
}

function startupsPerSource(value = 'none'): Pick<SshdOptions, 'perSourceMaxStartups'> {
  return isNone(value) ? {} : { perSourceMaxStartups: Number(value) };
}

function listOf(value: string): string[] {
  return value.split(/\s+/).filter((word) => word !== '');
}

/** sshd prints `none` for options without a value. */
function optional<Key extends string>(
  key: Key,
  value: string | undefined,
): Partial<Record<Key, string>> {
  if (value === undefined || value === '' || isNone(value)) return {};
  return { [key]: value } as Partial<Record<Key, string>>;
}

function isNone(value: string): boolean {
  return value.toLowerCase() === 'none';
}

function direction(value: string | undefined): ForwardDirection {
  if (value === 'no' || value === 'local' || value === 'remote') return value;
  return 'all';
}

function userEnvironment(value: string | undefined): string {
  if (value === undefined || value === 'no') return 'none';
  return value === 'yes' ? 'all' : value;
}
