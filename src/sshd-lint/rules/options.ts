/** What decides, of the options that sshd(8) would use for one connection. */
export interface SshdOptions {
  /** That sshd listens on: ListenAddress may say others than Port. */
  readonly ports: readonly number[];
  /** Absent where nothing is forced. */
  readonly forceCommand?: string;
  readonly chrootDirectory?: string;
  readonly subsystems: readonly Subsystem[];
  /** Patterns of environment names; one entry each. */
  readonly acceptEnv: readonly string[];
  /** `NAME=VALUE` each. */
  readonly setEnv: readonly string[];
  /** `none`, `all`, or a pattern list of names (since OpenSSH 7.8). */
  readonly permitUserEnvironment: string;
  readonly allowTcpForwarding: ForwardDirection;
  readonly allowStreamLocalForwarding: ForwardDirection;
  readonly disableForwarding: boolean;
  /** `PermitOpen none` and `PermitListen none`: no TCP forward of that direction. */
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
  /** Since OpenSSH 10.0; before it was the program's name. */
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
  readonly clientAliveInterval: number;
  readonly clientAliveCountMax: number;
  readonly maxSessions: number;
  readonly allowUsers: readonly string[];
  readonly denyUsers: readonly string[];
  readonly allowGroups: readonly string[];
  readonly denyGroups: readonly string[];
}

export interface Subsystem {
  readonly name: string;
  /** With its arguments. */
  readonly command: string;
}

export type ForwardDirection = 'no' | 'local' | 'remote' | 'all';

/** A line of sshd_config(5), its words without their quotes. */
export interface WrittenLine {
  /** In lower case. */
  readonly keyword: string;
  readonly words: readonly string[];
}

/**
 * Reads what `sshd -T` printed: one option per line, a keyword and its value, lists either as
 * repeated lines or on one. The keywords' case does not count: older versions print lower case, the
 * newest does not. What a version does not print is what that version always did.
 *
 * @param written the configuration: sshd prints paths with blanks in them without their quotes
 * @returns Nothing where the text is no such output.
 */
export function parseSshdOptions(
  text: string,
  written: readonly WrittenLine[] = [],
): SshdOptions | undefined {
  const lines = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [, keyword, value] = /^([A-Za-z][A-Za-z0-9]*)(?:[ \t]+(.*?))?[ \t\r]*$/.exec(line) ?? [];
    if (keyword === undefined) continue;
    const values = lines.get(keyword.toLowerCase()) ?? [];
    lines.set(keyword.toLowerCase(), [...values, value ?? '']);
  }
  // Both have been in each output since there is `sshd -T`.
  if (!lines.has('port') || !lines.has('strictmodes')) return undefined;
  const all = (keyword: string) => lines.get(keyword) ?? [];
  const first = (keyword: string) => all(keyword)[0];
  const flag = (keyword: string, otherwise: boolean) =>
    ({ yes: true, no: false })[first(keyword) ?? ''] ?? otherwise;
  const words = (keyword: string) => all(keyword).flatMap((value) => listOf(value));
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
    authorizedKeysFiles: keysFiles(first('authorizedkeysfile') ?? '', written),
    ...optional('authorizedKeysCommand', first('authorizedkeyscommand')),
    ...optional('authorizedKeysCommandUser', first('authorizedkeyscommanduser')),
    ...optional('authorizedPrincipalsFile', first('authorizedprincipalsfile')),
    ...optional('authorizedPrincipalsCommand', first('authorizedprincipalscommand')),
    ...optional('authorizedPrincipalsCommandUser', first('authorizedprincipalscommanduser')),
    ...optional('trustedUserCaKeys', first('trustedusercakeys')),
    clientAliveInterval: Number(first('clientaliveinterval') ?? 0),
    clientAliveCountMax: Number(first('clientalivecountmax') ?? 3),
    maxSessions: Number(first('maxsessions') ?? 10),
    allowUsers: words('allowusers'),
    denyUsers: words('denyusers'),
    allowGroups: words('allowgroups'),
    denyGroups: words('denygroups'),
  };
}

/** `[::]:22`, `192.0.2.1:2222 rdomain name`; sshd prints one for each port where nothing is said. */
function listeningPorts(addresses: readonly string[], ports: readonly string[]): number[] {
  const bound = addresses.flatMap((address) => /:(\d+)(?:\s|$)/.exec(address)?.[1] ?? []);
  return [...new Set((bound.length > 0 ? bound : ports).map(Number))];
}

function keysFiles(printed: string, written: readonly WrittenLine[]): readonly string[] {
  const line = written.find(
    ({ keyword, words }) => keyword === 'authorizedkeysfile' && words.join(' ') === printed,
  );
  return (line?.words ?? listOf(printed)).filter((path) => !isNone(path));
}

function listOf(value: string): string[] {
  return value.split(/\s+/).filter((word) => word !== '');
}

/** `none` is how sshd says that there is nothing; a value may be anything else. */
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
