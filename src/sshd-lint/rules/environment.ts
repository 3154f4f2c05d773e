import type { SshdFinding, SshdSample, SshdSeverity } from './finding.ts';
import type { SshdOptions } from './options.ts';
import { pathsOfValue } from './paths.ts';
import { matchesPattern, matchesPatternList, patternsMeet } from './patterns.ts';

/** Names by which the loader, a shell or Node runs other code, by the program that obeys. */
const codeLoaders: readonly string[] = [
  // ld.so, gconv and malloc of glibc; OpenSSL's configuration names modules.
  ...[
    'LD_*',
    'GCONV_PATH',
    'GLIBC_TUNABLES',
    'OPENSSL_CONF*',
    'OPENSSL_MODULES',
    'OPENSSL_ENGINES',
  ],
  // Shells, before the forced command.
  ...['BASH_ENV', 'BASH_FUNC_*', 'ENV', 'SHELLOPTS', 'BASHOPTS', 'PS4', 'ZDOTDIR', 'FPATH'],
  'NODE_*',
];

/** Names that load code into a process of the host, where a user can set them. */
const loaders: readonly string[] = [
  ...codeLoaders,
  // Podman and what it starts.
  ...['CONTAINER_*', 'CONTAINERS_*', 'STORAGE_*', 'XDG_*', 'PATH', 'DBUS_SESSION_BUS_ADDRESS'],
];

/** Names that lead a program of the host elsewhere. */
const misleaders: readonly string[] = [
  ...['DOCKER_*', 'REGISTRY_AUTH_FILE', 'KUBECONFIG', 'SSL_CERT_*', 'TMPDIR', 'HOME', 'LOCPATH'],
  ...['GODEBUG', 'NOTIFY_SOCKET', 'LISTEN_*', 'BERTH_*', 'SSH_*', 'RES_OPTIONS', 'HOSTALIASES'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'],
];

/** What sshd, the client or a file of the home puts into the environment of the host's programs. */
export function environmentFindings(
  options: SshdOptions,
  { paths }: Pick<SshdSample, 'paths'>,
): SshdFinding[] {
  const findings = options.setEnv.flatMap((assignment) => setEnvFindings(assignment, paths));
  const accepted = reachOf((name) =>
    options.acceptEnv.filter((pattern) => patternsMeet(pattern, name)),
  );
  if (accepted !== undefined)
    findings.push({
      code: 'accept-env',
      severity: accepted.severity,
      message: `the client sets ${accepted.names} on the host: AcceptEnv ${accepted.patterns}`,
      closedBy: 'AcceptEnv LANG LC_*',
    });
  const { permitUserEnvironment } = options;
  if (permitUserEnvironment === 'none') return findings;
  const permitted =
    permitUserEnvironment === 'all'
      ? reachOf(() => ['yes'])
      : reachOf((name) => (listMeets(permitUserEnvironment, name) ? [permitUserEnvironment] : []));
  if (permitted !== undefined)
    findings.push({
      code: 'permit-user-environment',
      severity: permitted.severity,
      message: `~/.ssh/environment and environment= of a key set ${permitted.names} on the host`,
      closedBy: 'PermitUserEnvironment no',
    });
  return findings;
}

/** The site's own variable: it opens the host where it leads to what a user can write. */
function setEnvFindings(assignment: string, paths: SshdSample['paths']): SshdFinding[] {
  const [name = ''] = assignment.split('=');
  if (!codeLoaders.some((pattern) => matchesPattern(name, pattern))) return [];
  const open = pathsOfValue(assignment).flatMap((path) => paths.get(path)?.open ?? []);
  const [place] = open;
  return [
    {
      code: 'set-env',
      severity: place === undefined ? 'weakness' : 'door',
      message:
        place === undefined
          ? `SetEnv ${assignment} steers the login and the shell before it, on the host: whatever it names runs there`
          : `SetEnv ${assignment} makes the host's programs of each session load code that users write: ${place.message}`,
      closedBy: `sshd_config without SetEnv ${name}; what sessions want of it goes into the profile's environment`,
    },
  ];
}

interface Reach {
  readonly severity: SshdSeverity;
  readonly names: string;
  readonly patterns: string;
}

/** What of the known names the patterns let through; the first few are enough to say. */
function reachOf(patternsThatLet: (name: string) => readonly string[]): Reach | undefined {
  const through = (names: readonly string[]) => names.filter((n) => patternsThatLet(n).length > 0);
  const loading = through(loaders);
  const names = loading.length > 0 ? loading : through(misleaders);
  if (names.length === 0) return undefined;
  const shown = names.slice(0, 4).join(', ');
  return {
    severity: loading.length > 0 ? 'door' : 'weakness',
    names: names.length > 4 ? `${shown} and more` : shown,
    patterns: [...new Set(names.flatMap(patternsThatLet))].join(' '),
  };
}

/** A list of patterns: what it excludes counts where it excludes the whole name. */
function listMeets(list: string, name: string): boolean {
  const patterns = list.split(',');
  const excluded = patterns.filter((one) => one.startsWith('!')).map((one) => one.slice(1));
  if (excluded.some((one) => matchesPatternList(name, one))) return false;
  return patterns.some((one) => !one.startsWith('!') && patternsMeet(one, name));
}
