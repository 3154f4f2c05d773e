import { refusal } from './rules/access.ts';
import { placeOf, type SshdDirective } from './rules/directives.ts';
import { bySeverity, type PathCheck, type SshdFinding, type SshdSample } from './rules/finding.ts';
import { sshdFindings } from './rules/findings.ts';
import { sharedKeyFiles } from './rules/key-files.ts';
import type { SshdEndpoint } from './rules/match.ts';
import type { SshdOptions } from './rules/options.ts';
import { decidingPaths } from './rules/paths.ts';
import { type MatchFinding, matchFindings } from './rules/probes.ts';
import { assertRoot } from '../system/as-user.ts';
import {
  anybody,
  chooseConnections,
  type ChosenConnection,
  type ConnectionWishes,
} from './lint-connections.ts';
import { includeFindings, loginFindings, loginProgram, settingsView } from './lint-host.ts';
import { pamFileFindings } from './lint-pam.ts';
import { portsInUse } from './lint-ports.ts';
import { checkPath, writableFindings } from './lint-writable.ts';
import { effectiveOptions, readSshdConfig, type SshdProgram } from './sshd-effective.ts';

export interface LintSshdInput extends SshdProgram, ConnectionWishes {
  /** Where Berth's login is installed. */
  readonly login: string;
  /** `ssh.yml`, for the profiles' networks. */
  readonly settings: string;
  /** A file in the place of sshd's PAM stack. */
  readonly pam?: string;
}

/** What one connection has open. */
export interface LintedSample {
  readonly user: string;
  /** False where the account stands for whoever is not in passwd. */
  readonly known: boolean;
  /** Accounts that are treated alike, besides this one. */
  readonly alike: number;
  readonly endpoint: SshdEndpoint;
  /** The keyword by which sshd does not let this account in; then nothing is open. */
  readonly refusedBy?: string;
  readonly findings: readonly SshdFinding[];
}

export interface SshdLint {
  readonly samples: readonly LintedSample[];
  /** Of this host, for everybody. */
  readonly host: readonly SshdFinding[];
  /** Of the configuration's Match blocks. */
  readonly matches: readonly MatchFinding[];
  /** Samples that were left out, as there would be too many. */
  readonly leftOut: number;
}

const mostSamples = 400;
const atOnce = 4;

/**
 * Finds every way past Berth's login, and into the host, that the real sshd's configuration leaves:
 * for one account of each kind, from each address and at each port that a Match block tells apart.
 *
 * @throws `not-root`, `sshd-missing`, `sshd-refused`, `sshd-output`, `config-missing`,
 *   `config-unreadable`, `user-unknown`, `user-name-invalid`, `group-empty`, `nss-failed`
 */
export async function lintSshd(input: LintSshdInput): Promise<SshdLint> {
  assertRoot();
  const config = await readSshdConfig(input.config);
  const { blocks, directives, files, includes } = config;
  // Of a connection, as sshd refuses a test that leaves open what a Match asks for.
  const base = await effectiveOptions(input, anybody, directives);
  const settings = await settingsView(input.settings);
  const ports = new Set([...base.ports, ...input.ports, ...(await portsInUse())]);
  const whole = await chooseConnections(input, base, config, ports);
  const chosen = whole.slice(0, mostSamples);
  const leftOut = whole.slice(mostSamples);
  const tried = await eachOf(chosen, async ({ account, connection }): Promise<Tried> => {
    const options = await effectiveOptions(input, connection, directives);
    const refusedBy = refusal(options, connection, account.uid === 0);
    return { account, connection, options, ...(refusedBy === undefined ? {} : { refusedBy }) };
  });
  const paths = await checkedPaths(tried);
  const login = await loginProgram(input.login, paths);
  const common = { login, paths, sessionNetwork: settings.sessionNetwork };
  const letIn = tried
    .filter(({ refusedBy }) => refusedBy === undefined)
    .map(({ account, options }) => ({ user: account.name, alike: account.alike, options }));
  // Where only some are looked at, or a directory is not enumerated, there are others.
  const others = input.users.length + input.groups.length > 0 || !refusal(base, anybody, false);
  const shared = sharedKeyFiles(
    others ? [...letIn, { user: anybody.user, alike: 1, options: base }] : letIn,
  );
  const samples = tried.map((one) =>
    linted(one, { ...common, sharedKeyFiles: shared }, directives),
  );
  const host = [
    ...(await loginFindings(login)),
    ...settings.findings,
    ...(await eachOf(files, (file) => writableFindings(file, 'sshd-config-writable'))).flat(),
    ...(await eachOf(includes, includeFindings)).flat(),
    ...(base.usePam ? await pamFileFindings(base.pamServiceName, input.pam) : []),
    ...leftOutFindings(leftOut, whole.length),
  ];
  return {
    samples,
    host: bySeverity(host),
    matches: matchFindings(
      blocks,
      tried.map(({ connection, options: { forceCommand } }) => ({
        connection,
        ...(forceCommand === undefined ? {} : { forceCommand }),
      })),
      leftOut.map(({ connection }) => connection),
      ports,
    ),
    leftOut: leftOut.length,
  };
}

interface Tried extends ChosenConnection {
  readonly options: SshdOptions;
  readonly refusedBy?: string;
}

/** Every path that decides for one of them, each looked at once. */
async function checkedPaths(tried: readonly Tried[]): Promise<Map<string, PathCheck>> {
  const paths = tried.flatMap(({ account, options }) => decidingPaths(options, account.shell));
  return new Map(
    await eachOf([...new Set(paths)], async (path) => [path, await checkPath(path)] as const),
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
    ...(account.shell === undefined ? {} : { shell: account.shell }),
  };
  const findings = refusedBy === undefined ? sshdFindings(options, sample) : [];
  return {
    user,
    known: account.shell !== undefined,
    alike: account.alike,
    endpoint: { host, address, localAddress, localPort },
    ...(refusedBy === undefined ? {} : { refusedBy }),
    findings: findings.map((finding) => {
      const place = placeOf(finding, connection, directives);
      return place === undefined ? finding : { ...finding, place };
    }),
  };
}

function leftOutFindings(leftOut: readonly ChosenConnection[], whole: number): SshdFinding[] {
  const [first] = leftOut;
  if (first === undefined) return [];
  const { user, address, localPort } = first.connection;
  return [
    {
      code: 'connections-left-out',
      severity: 'advice',
      message: `${leftOut.length} of ${whole} connections that Match tells apart were not tried, the first of them ${user} from ${address} to port ${localPort}: what is open for them is not known`,
      closedBy: 'berth lint sshd --user NAME --address ADDRESS, for each that matters',
    },
  ];
}

/** In order, some at once; the first error counts. */
async function eachOf<In, Out>(
  items: readonly In[],
  work: (item: In) => Promise<Out>,
): Promise<Out[]> {
  const results: Out[] = [];
  for (let from = 0; from < items.length; from += atOnce)
    results.push(...(await Promise.all(items.slice(from, from + atOnce).map(work))));
  return results;
}
