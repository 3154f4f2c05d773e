import { accessGroupKey, type NamedAccounts, namedAccounts } from './rules/directives.ts';
import type { MatchBlock, SshdConnection, SshdEndpoint } from './rules/match.ts';
import type { SshdOptions } from './rules/options.ts';
import { distinctConnections } from './rules/distinct-connections.ts';
import {
  groupAccounts,
  type LintAccount,
  type LintAccountGroup,
  matchEndpoints,
  matchingBlocks,
  type UnlistedAccounts,
} from './rules/match-coverage.ts';
import { lintAccounts } from './lint-accounts.ts';
import type { SshdConfigFiles } from './sshd-effective.ts';

/** Overrides for the connections that the linter chooses. */
export interface ConnectionOverrides {
  readonly users: readonly string[];
  readonly groups: readonly string[];
  /** Client addresses. */
  readonly addresses: readonly string[];
  /** Ports of sshd. */
  readonly ports: readonly number[];
}

/** The linter chooses all. */
export const noOverrides: ConnectionOverrides = {
  users: [],
  groups: [],
  addresses: [],
  ports: [],
};

/** An address for documentation (RFC 5737), which no site's Match names. */
const anywhere: Omit<SshdEndpoint, 'localPort'> = {
  host: 'client.invalid',
  address: '192.0.2.77',
  localAddress: '192.0.2.1',
};
const stranger: LintAccount = { name: 'berth-lint-anybody', uid: 1000, groups: [] };

/** A user and an address that no configuration names. */
export const anybody: SshdConnection = {
  ...anywhere,
  localPort: 22,
  user: stranger.name,
  groups: [],
};

/** A connection to evaluate. */
export interface ChosenConnection {
  readonly account: LintAccountGroup;
  readonly connection: SshdConnection;
}

export interface ChosenConnections extends UnlistedAccounts {
  readonly connections: readonly ChosenConnection[];
}

/**
 * Chooses one account of each kind, with one endpoint for each set of Match blocks that applies to it.
 *
 * @param listening Ports of this host on which any program listens.
 * @param pam Accounts and groups that PAM's lists admit.
 */
export async function chooseConnections(
  input: ConnectionOverrides,
  base: SshdOptions,
  { blocks, directives }: SshdConfigFiles,
  listening: ReadonlySet<number>,
  pam: NamedAccounts,
): Promise<ChosenConnections> {
  const { users, groups, addresses, ports } = input;
  const bySshd = namedAccounts(directives, blocks);
  const named = {
    users: [...bySshd.users, ...pam.users],
    groups: [...bySshd.groups, ...pam.groups],
  };
  const mentioned = [
    ...named.groups,
    ...blocks
      .flatMap(({ criteria }) => criteria.filter(({ name }) => name === 'group'))
      .flatMap(({ argument }) => argument.split(',')),
  ].filter((name) => !/^(?:!|$)/.test(name));
  const { accounts: known, ...others } = await lintAccounts({ users, groups, mentioned, named });
  const all = users.length + groups.length > 0 ? known : withStranger(known, blocks);
  const kinds = groupAccounts(all, blocks, (account) => accessGroupKey(account, directives));
  const first: SshdEndpoint = { ...anywhere, localPort: base.ports[0] ?? 22 };
  const wanted = matchEndpoints(blocks, first, listening).flatMap((one) =>
    (addresses.length > 0 ? addresses : [one.address]).flatMap((address) =>
      (ports.length > 0 ? ports : [one.localPort]).map((localPort) => ({
        ...one,
        address,
        localPort,
      })),
    ),
  );
  const places = [...new Map(wanted.map((one) => [JSON.stringify(one), one])).values()];
  const probes = places.flatMap((place) =>
    kinds.map((account) => ({
      account,
      connection: { ...place, user: account.name, groups: account.groups },
    })),
  );
  // Addresses and ports that were asked for are all evaluated.
  const connections =
    addresses.length + ports.length > 0 ? probes : distinctConnections(probes, blocks);
  return { ...others, connections };
}

/**
 * Adds an account that no Match block names, unless a known one is like that: most directory services do not
 * enumerate. Only if ForceCommand is in Match blocks; nothing is known of the shell of such accounts.
 */
function withStranger(
  known: readonly LintAccount[],
  blocks: readonly MatchBlock[],
): readonly LintAccount[] {
  const forced = blocks.some(({ forceCommand }) => forceCommand !== undefined);
  const unnamed = matchingBlocks(stranger, blocks).join(' ');
  const there = known.some(
    (account) => account.uid !== 0 && matchingBlocks(account, blocks).join(' ') === unnamed,
  );
  return forced && !there ? [...known, stranger] : known;
}
