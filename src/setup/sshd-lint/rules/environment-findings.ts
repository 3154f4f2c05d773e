import { critical, type SshdFinding, type SshdSample, weakness } from './sshd-finding.ts';
import type { SshdOptions } from './options.ts';
import { pathsInAssignment } from './relevant-paths.ts';
import { matchesPattern, matchesPatternList, patternsOverlap } from './patterns.ts';

/** Variables by which the loader, a shell or Node runs other code. */
const codeLoaders: readonly string[] = [
  // ld.so, gconv and malloc of glibc; OpenSSL's configuration names modules.
  'LD_*',
  'GCONV_PATH',
  'GLIBC_TUNABLES',
  'OPENSSL_CONF*',
  'OPENSSL_MODULES',
  'OPENSSL_ENGINES',
  // Read by shells before the forced command.
  'BASH_ENV',
  'BASH_FUNC_*',
  'ENV',
  'SHELLOPTS',
  'BASHOPTS',
  'PS4',
  'ZDOTDIR',
  'FPATH',
  'NODE_*',
];

/** Variables that load code into a process of the host if a user can set them. */
const loaders: readonly string[] = [
  ...codeLoaders,
  // Podman and its children.
  'CONTAINER_*',
  'CONTAINERS_*',
  'STORAGE_*',
  'XDG_*',
  'PATH',
  'DBUS_SESSION_BUS_ADDRESS',
];

/** Variables that make a program of the host use other files or servers. */
const misleaders: readonly string[] = [
  'DOCKER_*',
  'REGISTRY_AUTH_FILE',
  'KUBECONFIG',
  'SSL_CERT_*',
  'TMPDIR',
  'HOME',
  'LOCPATH',
  'GODEBUG',
  'NOTIFY_SOCKET',
  'LISTEN_*',
  'BERTH_JOB_*',
  'BERTH_ENV_*',
  'SSH_*',
  'RES_OPTIONS',
  'HOSTALIASES',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'http_proxy',
  'https_proxy',
  'all_proxy',
];

/** Findings about variables that sshd, the client or a file in the home sets for programs of the host. */
export function environmentFindings(
  options: SshdOptions,
  { paths }: Pick<SshdSample, 'paths'>,
): SshdFinding[] {
  const findings = options.setEnv.flatMap((assignment) => setEnvFindings(assignment, paths));
  const accepted = reachOf((name) =>
    options.acceptEnv.filter((pattern) => patternsOverlap(pattern, name)),
  );
  if (accepted !== undefined)
    findings.push(
      accepted.found(
        'accept-env',
        `the client can set ${accepted.names} on the host (AcceptEnv ${accepted.patterns})`,
        'AcceptEnv LANG LC_*',
      ),
    );
  const { permitUserEnvironment } = options;
  if (permitUserEnvironment === 'none') return findings;
  const permitted =
    permitUserEnvironment === 'all'
      ? reachOf(() => ['yes'])
      : reachOf((name) => (listMeets(permitUserEnvironment, name) ? [permitUserEnvironment] : []));
  if (permitted !== undefined)
    findings.push(
      permitted.found(
        'permit-user-environment',
        `~/.ssh/environment and environment= of a key can set ${permitted.names} on the host`,
        'PermitUserEnvironment no',
      ),
    );
  return findings;
}

/** A variable that the site sets: critical only if it leads to a file that users can write. */
function setEnvFindings(assignment: string, paths: SshdSample['paths']): SshdFinding[] {
  const [name = ''] = assignment.split('=');
  if (!codeLoaders.some((pattern) => matchesPattern(name, pattern))) return [];
  const open = pathsInAssignment(assignment).flatMap((path) => paths.get(path)?.open ?? []);
  const [place] = open;
  return [
    (place === undefined ? weakness : critical)(
      'set-env',
      place === undefined
        ? `SetEnv ${assignment} changes what the login program and the shell before it load on the host`
        : `SetEnv ${assignment} makes programs of the host load code that users can write: ${place.message}`,
      `remove SetEnv ${name}; set variables for sessions in environment.set of the profile`,
    ),
  ];
}

interface Reach {
  readonly found: typeof critical;
  readonly names: string;
  readonly patterns: string;
}

/** The known variables that the patterns let through; the first few are named. */
function reachOf(patternsThatLet: (name: string) => readonly string[]): Reach | undefined {
  const through = (names: readonly string[]) => names.filter((n) => patternsThatLet(n).length > 0);
  const loading = through(loaders);
  const names = loading.length > 0 ? loading : through(misleaders);
  if (names.length === 0) return undefined;
  const shown = names.slice(0, 4).join(', ');
  return {
    found: loading.length > 0 ? critical : weakness,
    names: names.length > 4 ? `${shown} and more` : shown,
    patterns: [...new Set(names.flatMap(patternsThatLet))].join(' '),
  };
}

/** Whether a pattern list can match; a negated pattern counts only if it excludes the whole name. */
function listMeets(list: string, name: string): boolean {
  const patterns = list.split(',');
  const excluded = patterns.filter((one) => one.startsWith('!')).map((one) => one.slice(1));
  if (excluded.some((one) => matchesPatternList(name, one))) return false;
  return patterns.some((one) => !one.startsWith('!') && patternsOverlap(one, name));
}
