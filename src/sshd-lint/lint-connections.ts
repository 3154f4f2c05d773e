import { accessKind, namedAccounts } from './rules/directives.ts';
import type { MatchBlock, SshdConnection, SshdEndpoint } from './rules/match.ts';
import type { SshdOptions } from './rules/options.ts';
import {
  distinctConnections,
  endpoints,
  fittingBlocks,
  type ProbeAccount,
  type Representative,
  representatives,
} from './rules/probes.ts';
import { lintAccounts } from './lint-accounts.ts';
import type { SshdConfigFiles } from './sshd-effective.ts';

/** What is to be looked at in place of what the configuration tells apart. */
export interface ConnectionWishes {
  readonly users: readonly string[];
  readonly groups: readonly string[];
  /** Addresses that clients come from. */
  readonly addresses: readonly string[];
  /** Ports of sshd's side. */
  readonly ports: readonly number[];
}

/** A documentation address (RFC 5737), which no site's Match means. */
const anywhere: Omit<SshdEndpoint, 'localPort'> = {
  host: 'client.invalid',
  address: '192.0.2.77',
  localAddress: '192.0.2.1',
};
const stranger: ProbeAccount = { name: 'berth-lint-anybody', uid: 1000, groups: [] };

/** Somebody whom nothing names, from an address that nothing names. */
export const anybody: SshdConnection = {
  ...anywhere,
  localPort: 22,
  user: stranger.name,
  groups: [],
};

/** A connection that is to be tried. */
export interface ChosenConnection {
  readonly account: Representative;
  readonly connection: SshdConnection;
}

/**
 * One account of each kind with one endpoint for each set of Match blocks that it can enter.
 *
 * @param listening ports of this host that anybody comes to
 */
export async function chooseConnections(
  input: ConnectionWishes,
  base: SshdOptions,
  { blocks, directives }: SshdConfigFiles,
  listening: ReadonlySet<number>,
): Promise<ChosenConnection[]> {
  const { users, groups, addresses, ports } = input;
  const named = namedAccounts(directives, blocks);
  const mentioned = [
    ...named.groups,
    ...blocks
      .flatMap(({ criteria }) => criteria.filter(({ name }) => name === 'group'))
      .flatMap(({ argument }) => argument.split(',')),
  ].filter((name) => /^[\w@.-]+$/.test(name));
  const known = await lintAccounts({ users, groups, mentioned: [...new Set(mentioned)], named });
  const all = users.length + groups.length > 0 ? known : withStranger(known, blocks);
  const kinds = representatives(all, blocks, (account) => accessKind(account, directives));
  const first: SshdEndpoint = { ...anywhere, localPort: base.ports[0] ?? 22 };
  const wanted = endpoints(blocks, first, listening).flatMap((one) =>
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
  // Whoever names an address or a port wants to see it.
  return addresses.length + ports.length > 0 ? probes : distinctConnections(probes, blocks);
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
