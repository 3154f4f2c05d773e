import { refusingKeyword, sharedKeyFiles } from './rules/access-findings.ts';
import { directivePlace, type SshdDirective } from './rules/directives.ts';
import {
  advice,
  bySeverity,
  type PathCheck,
  type SshdFinding,
  type SshdSample,
} from './rules/sshd-finding.ts';
import { sshdFindings } from './rules/all-findings.ts';
import type { SshdEndpoint } from './rules/match.ts';
import type { SshdOptions } from './rules/options.ts';
import { relevantPaths } from './rules/relevant-paths.ts';
import { chosenOf, othersOf } from './rules/distinct-connections.ts';
import { type MatchFinding, matchFindings, unlistedFindings } from './rules/match-coverage.ts';
import { balancerFindings } from './rules/balancer-findings.ts';
import { keywordFindings } from './rules/keyword-findings.ts';
import { portFindings } from './rules/forwarding-findings.ts';
import { assertRoot } from '../../system/as-user.ts';
import {
  anybody,
  chooseConnections,
  type ChosenConnection,
  type ConnectionOverrides,
} from './lint-connections.ts';
import { includeFindings, loginFindings, loginProgram, lintSettings } from './lint-host.ts';
import { cronFindings, mailFindings, userManagerFindings } from './lint-background-jobs.ts';
import { pamFileFindings, pamNamedAccounts } from './lint-pam.ts';
import { mapConcurrent } from '../../system/map-concurrent.ts';
import { firstUnprivilegedPort, listeningTcpPorts } from '../../system/listening-sockets.ts';
import type { ResolveConfigPath } from '../../config/load/config-path.ts';
import { checkPath, replaceableFindings } from './lint-file-permissions.ts';
import { effectiveOptions, parseSshdConfigFiles, type SshdProgram } from './sshd-effective.ts';

export interface LintSshdInput extends SshdProgram, ConnectionOverrides {
  /** Path of Berth's login program. */
  readonly login: string;
  /** Path of `ssh.yml`, whose profiles set the networks. */
  readonly settings: string;
  /** Of a configuration to try. */
  readonly overlay?: ResolveConfigPath | undefined;
  /** A file to read instead of sshd's PAM stack. */
  readonly pam?: string;
}

/** What one connection can do. */
export interface LintedSample {
  readonly user: string;
  /** False if the account stands for users who are not in passwd. */
  readonly known: boolean;
  /** How many other accounts get the same result. */
  readonly alike: number;
  readonly endpoint: SshdEndpoint;
  /** The keyword by which sshd refuses this account; then there are no findings. */
  readonly refusedBy?: string;
  readonly findings: readonly SshdFinding[];
}

/** The result of `lintSshd`. */
export interface SshdLint {
  readonly samples: readonly LintedSample[];
  /** Findings that apply to all connections. */
  readonly host: readonly SshdFinding[];
  /** Findings about Match blocks. */
  readonly matches: readonly MatchFinding[];
  /** How many connections were not evaluated because of the limit. */
  readonly leftOut: number;
}

/** Those of the host, of Match blocks and of connections. */
export function allFindings({ host, matches, samples }: SshdLint): SshdFinding[] {
  return [...host, ...matches, ...samples.flatMap(({ findings }) => findings)];
}

/** For Match blocks of which sshd refuses each connection that was tried. */
const mostTurns = 10;
/** More only if there are more Match blocks. */
const mostSamples = 200;
const atOnce = 4;

/**
 * Finds every way past Berth's login program and onto the host that sshd's configuration leaves open, by running
 * `sshd -T` for one account of each kind, from each address and at each port that a Match block distinguishes.
 *
 * @throws {BerthError} `not-root`, `sshd-missing`, `sshd-refused`, `sshd-output`, `config-missing`,
 *   `config-unreadable`, `user-unknown`, `user-name-invalid`, `group-empty`, `nss-failed`
 */
export async function lintSshd(input: LintSshdInput): Promise<SshdLint> {
  assertRoot();
  const config = await parseSshdConfigFiles(input.config, input.sshd);
  const { blocks, directives, files, includes } = config;
  // With a connection: sshd refuses a test without the criteria that a Match needs.
  const base = await effectiveOptions(input, anybody, directives);
  const settings = await lintSettings(input.settings, input.overlay);
  const ports = new Set([...base.ports, ...input.ports, ...listeningTcpPorts()]);
  const services = pamServices(base, directives);
  const named = await Promise.all(
    services.map((one) =>
      pamNamedAccounts(one, one === base.pamServiceName ? input.pam : undefined),
    ),
  );
  const { connections: whole, ...accounts } = await chooseConnections(input, base, config, ports, {
    users: named.flatMap(({ users }) => users),
    groups: named.flatMap(({ groups }) => groups),
  });
  const unlisted = unlistedFindings(accounts, base, directives);
  const triedOf = new Map<ChosenConnection, Tried>();
  let next = chosenOf(whole, blocks, mostSamples);
  for (let turn = 0; turn < mostTurns && next.length > 0; turn += 1) {
    const results = await mapConcurrent(
      next,
      atOnce,
      async (one): Promise<[ChosenConnection, Tried]> => {
        const options = await effectiveOptions(input, one.connection, directives);
        const refusedBy = refusingKeyword(options, one.connection, one.account.uid === 0);
        return [one, { ...one, options, refusedBy }];
      },
    );
    for (const [one, result] of results) triedOf.set(one, result);
    next = othersOf(whole, blocks, (one) => {
      const result = triedOf.get(one);
      return result && result.refusedBy === undefined;
    });
  }
  const tried = whole.flatMap((one) => triedOf.get(one) ?? []);
  const leftOut = whole.length - tried.length;
  const paths = await checkedPaths(tried);
  const login = await loginProgram(input.login, paths);
  const rootLogsIn = refusingKeyword(base, { user: 'root', groups: ['root'] }, true) === undefined;
  const common = { login, paths, rootLogsIn, sessionNetwork: settings.sessionNetwork };
  const letIn = tried
    .filter(({ refusedBy }) => refusedBy === undefined)
    .map(({ account, options }) => ({ user: account.name, alike: account.alike, options }));
  // With --user or --group, and where a directory service does not enumerate, there are more accounts.
  const others =
    input.users.length + input.groups.length + unlisted.length > 0 ||
    !refusingKeyword(base, anybody, false);
  const shared = sharedKeyFiles(
    others ? [...letIn, { user: anybody.user, alike: 1, options: base }] : letIn,
  );
  const samples = tried.map((one) =>
    linted(one, { ...common, sharedKeyFiles: shared }, directives),
  );
  const host = [
    ...(await loginFindings(login)),
    ...settings.findings,
    ...keywordFindings(directives),
    ...placed(portFindings(base, await firstUnprivilegedPort()), directives),
    ...placed(balancerFindings(base, settings.balancers, config), directives),
    ...(
      await mapConcurrent(files, atOnce, (file) =>
        replaceableFindings(file, 'sshd-config-writable'),
      )
    ).flat(),
    ...(await mapConcurrent(includes, atOnce, includeFindings)).flat(),
    ...(
      await mapConcurrent(services, atOnce, (one) =>
        pamFileFindings(one, one === base.pamServiceName ? input.pam : undefined),
      )
    ).flat(),
    ...(await userManagerFindings()),
    ...(await mailFindings()),
    ...(await cronFindings()),
    ...leftOutFindings(whole, triedOf, next.length > 0),
    ...unlisted,
  ];
  return {
    samples,
    host: bySeverity(host),
    matches: matchFindings(
      blocks,
      tried.map(({ connection, options: { forceCommand } }) => ({
        connection,
        forceCommand,
      })),
      ports,
    ),
    leftOut,
  };
}

/** A Match can name another stack (OpenSSH 9.8 and later). */
export function pamServices(
  { usePam, pamServiceName }: SshdOptions,
  directives: readonly SshdDirective[],
): string[] {
  if (!usePam) return [];
  const written = directives.filter(({ keyword }) => keyword === 'pamservicename');
  return [...new Set([pamServiceName, ...written.flatMap(({ args }) => args)])];
}

/** With the line that they are about, for options that no Match can set. */
function placed(
  findings: readonly SshdFinding[],
  directives: readonly SshdDirective[],
): SshdFinding[] {
  return findings.map((finding) => {
    const place = finding.place ?? directivePlace(finding, anybody, directives);
    return place === undefined ? finding : { ...finding, place };
  });
}

interface Tried extends ChosenConnection {
  readonly options: SshdOptions;
  readonly refusedBy?: string;
}

/** Checks every path that matters for a connection, each once. */
async function checkedPaths(tried: readonly Tried[]): Promise<Map<string, PathCheck>> {
  const paths = tried.flatMap(({ account, options }) => relevantPaths(options, account.shell));
  return new Map(
    await mapConcurrent(
      [...new Set(paths)],
      atOnce,
      async (path) => [path, await checkPath(path)] as const,
    ),
  );
}

function linted(
  { account, connection, options, refusedBy }: Tried,
  common: Omit<SshdSample, 'user' | 'isRoot' | 'shell'>,
  directives: readonly SshdDirective[],
): LintedSample {
  const { user, host, address, localAddress, localPort } = connection;
  const sample: SshdSample = {
    ...common,
    user,
    isRoot: account.uid === 0,
    shell: account.shell,
  };
  const findings = refusedBy === undefined ? sshdFindings(options, sample) : [];
  return {
    user,
    known: account.shell !== undefined,
    alike: account.alike,
    endpoint: { host, address, localAddress, localPort },
    refusedBy,
    findings: findings.map((finding) => {
      const place = directivePlace(finding, connection, directives);
      return place === undefined ? finding : { ...finding, place };
    }),
  };
}

function leftOutFindings(
  whole: readonly ChosenConnection[],
  tried: ReadonlyMap<ChosenConnection, Tried>,
  allRefused: boolean,
): SshdFinding[] {
  const first = whole.find((one) => !tried.has(one));
  if (first === undefined) return [];
  const { user, address, localPort } = first.connection;
  return [
    advice(
      'connections-left-out',
      `${whole.length - tried.size} of ${whole.length} different connections were not checked, for example ${user} from ${address} to port ${localPort}; ${
        allRefused
          ? 'of some Match blocks, sshd refuses all connections that were checked'
          : 'each Match block that applies to any connection was checked with one'
      }`,
      'run berth sshd lint --user NAME --address ADDRESS for each connection that matters',
    ),
  ];
}
