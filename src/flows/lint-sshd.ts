import { refusal } from '../config/sshd-access.ts';
import { bySeverity, type SshdFinding, type SshdSample } from '../config/sshd-finding.ts';
import { sshdFindings } from '../config/sshd-findings.ts';
import type { MatchBlock, SshdConnection, SshdEndpoint } from '../config/sshd-match.ts';
import type { SshdOptions } from '../config/sshd-options.ts';
import {
  endpoints,
  fittingBlocks,
  type MatchFinding,
  matchFindings,
  type ProbeAccount,
  type Representative,
  representatives,
} from '../config/sshd-probes.ts';
import { assertRoot } from '../system/as-user.ts';
import { lintAccounts } from './lint-accounts.ts';
import {
  loginFindings,
  loginProgram,
  pamFileFindings,
  programFindings,
  settingsView,
  writableFindings,
} from './lint-host.ts';
import { effectiveOptions, readMatchBlocks, type SshdProgram } from './sshd-effective.ts';

export interface LintSshdInput extends SshdProgram {
  readonly users: readonly string[];
  readonly groups: readonly string[];
  /** Addresses that clients come from. */
  readonly addresses: readonly string[];
  /** Ports of sshd's side. */
  readonly ports: readonly number[];
  /** Where Berth's login is installed. */
  readonly login: string;
  /** `ssh.yml`, for the profiles' networks. */
  readonly settings: string;
  /** sshd's PAM stack. */
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

/** A documentation address (RFC 5737), which no site's Match means. */
const anywhere: Omit<SshdEndpoint, 'localPort'> = {
  host: 'client.invalid',
  address: '192.0.2.77',
  localAddress: '192.0.2.1',
};
const stranger: ProbeAccount = { name: 'berth-lint-anybody', uid: 1000, groups: [] };
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
  const { blocks, files } = await readMatchBlocks(input.config);
  // Of a connection, as sshd refuses a test that leaves open what a Match asks for.
  const base = await effectiveOptions(input, {
    ...anywhere,
    localPort: 22,
    user: stranger.name,
    groups: [],
  });
  const login = await loginProgram(input.login);
  const settings = await settingsView(input.settings);
  const whole = await chooseConnections(input, base, blocks);
  const chosen = whole.slice(0, mostSamples);
  const tried = await eachOf(chosen, async ({ account, connection }) => {
    const options = await effectiveOptions(input, connection);
    return { account, connection, options };
  });
  const samples = tried.map(({ account, connection, options }): LintedSample => {
    const isRoot = account.uid === 0;
    const refusedBy = refusal(options, connection, isRoot);
    const { user, host: name, address, localAddress, localPort } = connection;
    const endpoint = { host: name, address, localAddress, localPort };
    const sample: SshdSample = {
      user,
      isRoot,
      ...(account.shell === undefined ? {} : { shell: account.shell }),
      login,
      sessionNetwork: settings.sessionNetwork,
    };
    return {
      user,
      known: account.shell !== undefined,
      alike: account.alike,
      endpoint,
      ...(refusedBy === undefined ? {} : { refusedBy }),
      findings: refusedBy === undefined ? sshdFindings(options, sample) : [],
    };
  });
  const pam = input.pam ?? `/etc/pam.d/${base.pamServiceName}`;
  const host = [
    ...(await loginFindings(login)),
    ...settings.findings,
    ...(await eachOf(files, (file) => writableFindings(file, 'sshd-config-writable'))).flat(),
    ...(await programFindings(base)),
    ...(base.usePam ? await pamFileFindings(pam) : []),
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
    ),
    leftOut: whole.length - chosen.length,
  };
}

interface Chosen {
  readonly account: Representative;
  readonly connection: SshdConnection;
}

async function chooseConnections(
  input: LintSshdInput,
  base: SshdOptions,
  blocks: readonly MatchBlock[],
): Promise<Chosen[]> {
  const { users, groups, addresses, ports } = input;
  const mentioned = [
    ...base.allowGroups,
    ...blocks
      .flatMap(({ criteria }) => criteria.filter(({ name }) => name === 'group'))
      .flatMap(({ argument }) => argument.split(',')),
  ].filter((name) => /^[\w@.-]+$/.test(name));
  const known = await lintAccounts({ users, groups, mentioned: [...new Set(mentioned)] });
  const all = users.length + groups.length > 0 ? known : withStranger(known, blocks);
  const kinds = representatives(all, blocks, (account) =>
    refusal(base, { user: account.name, groups: account.groups }, account.uid === 0),
  );
  const first: SshdEndpoint = { ...anywhere, localPort: base.ports[0] ?? 22 };
  const wanted = endpoints(blocks, first).flatMap((one) =>
    (addresses.length > 0 ? addresses : [one.address]).flatMap((address) =>
      (ports.length > 0 ? ports : [one.localPort]).map((localPort) => ({
        ...one,
        address,
        localPort,
      })),
    ),
  );
  const places = [...new Map(wanted.map((one) => [JSON.stringify(one), one])).values()];
  return kinds.flatMap((account) =>
    places.map((place) => ({
      account,
      connection: { ...place, user: account.name, groups: account.groups },
    })),
  );
}

/**
 * A directory service is seldom enumerated: where the command is forced by Match, there must be
 * somebody whom no block knows. Where passwd's shell does it, nothing can be said of strangers.
 */
function withStranger(
  known: readonly ProbeAccount[],
  blocks: readonly MatchBlock[],
): readonly ProbeAccount[] {
  const forced = blocks.some(({ forceCommand }) => forceCommand !== undefined);
  const ofNobody = fittingBlocks(stranger, blocks).join(' ');
  const there = known.some(
    (account) => account.uid !== 0 && fittingBlocks(account, blocks).join(' ') === ofNobody,
  );
  return forced && !there ? [...known, stranger] : known;
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
