import { addressIn, someAddressIn } from './addresses.ts';
import type { SshdConfigLine } from './config-file.ts';
import { matchesPattern, matchesPatternList } from './patterns.ts';

/** One `Match` of sshd_config(5), with what stands above it where its file is included inside another. */
export interface MatchBlock {
  readonly file: string;
  readonly line: number;
  /** As it stands there, without the keyword. */
  readonly text: string;
  readonly criteria: readonly MatchCriterion[];
  /** The first one of the block, which is the one that counts. */
  readonly forceCommand?: string;
}

export interface MatchCriterion {
  /** In lower case: `user`, `group`, `address`, `localport`, … or `all`. */
  readonly name: string;
  readonly argument: string;
}

/** One connection as sshd's `Match` sees it. */
export interface SshdConnection extends SshdEndpoint {
  readonly user: string;
  /** Names of all the user's groups. */
  readonly groups: readonly string[];
}

/** Where a connection comes from and where it arrives. */
export interface SshdEndpoint {
  readonly host: string;
  readonly address: string;
  readonly localAddress: string;
  readonly localPort: number;
}

/** `User a,b Group=c`; a criterion without an argument has an empty one. */
export function matchCriteria({ words }: Pick<SshdConfigLine, 'words'>): MatchCriterion[] {
  const criteria: MatchCriterion[] = [];
  const left = [...words];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    const [, joined, value] = /^([A-Za-z]+)=(.*)$/.exec(word) ?? [];
    const name = (joined ?? word).toLowerCase();
    const bare = name === 'all' || name === 'invalid-user';
    criteria.push({ name, argument: value ?? (bare ? '' : (left.shift() ?? '')) });
  }
  return criteria;
}

const aboutUsers = new Set(['user', 'group']);

/** Whether this account fits what the block says of users and groups. */
export function fitsAccount(
  { criteria }: Pick<MatchBlock, 'criteria'>,
  account: Pick<SshdConnection, 'user' | 'groups'>,
): boolean {
  return criteria
    .filter(({ name }) => aboutUsers.has(name))
    .every(({ name, argument }) =>
      name === 'user'
        ? matchesPatternList(account.user, argument)
        : groupsMatch(account.groups, argument),
    );
}

/** `ga_match_pattern_list`: one excluded group is enough to fall out. */
export function groupsMatch(groups: readonly string[], list: string): boolean {
  const patterns = list.split(',');
  const refused = patterns.some(
    (one) => one.startsWith('!') && groups.some((group) => matchesPattern(group, one.slice(1))),
  );
  return (
    !refused &&
    patterns.some((one) => !one.startsWith('!') && groups.some((g) => matchesPattern(g, one)))
  );
}

/**
 * Whether sshd takes the block for this connection.
 *
 * @returns Nothing where it asks what cannot be known here (`version`, `rdomain`, `invalid-user`).
 */
export function takesBlock(
  block: Pick<MatchBlock, 'criteria'>,
  connection: SshdConnection,
): boolean | undefined {
  if (!fitsAccount(block, connection)) return false;
  let unknown = false;
  for (const { name, argument } of block.criteria) {
    const fits = fitsEndpoint(name, argument, connection);
    if (fits === false) return false;
    unknown ||= fits === undefined;
  }
  return unknown ? undefined : true;
}

function fitsEndpoint(
  name: string,
  argument: string,
  { host, address, localAddress, localPort }: SshdEndpoint,
): boolean | undefined {
  switch (name) {
    case 'all':
    case 'user':
    case 'group':
      return true;
    case 'host':
      return matchesPatternList(host.toLowerCase(), argument.toLowerCase());
    case 'address':
      return addressIn(address, argument);
    case 'localaddress':
      return addressIn(localAddress, argument);
    case 'localport':
      return Number(argument) === localPort;
    default:
      return undefined;
  }
}

/** The base with what the block asks of the endpoint put in its place. */
export function endpointInto(block: MatchBlock, base: SshdEndpoint): SshdEndpoint {
  const wanted: { -readonly [Key in keyof SshdEndpoint]: SshdEndpoint[Key] } = { ...base };
  for (const { name, argument } of block.criteria) {
    if (name === 'host') wanted.host = someNameOf(argument) ?? base.host;
    else if (name === 'address') wanted.address = someAddressIn(argument) ?? base.address;
    else if (name === 'localaddress')
      wanted.localAddress = someAddressIn(argument) ?? base.localAddress;
    else if (name === 'localport') wanted.localPort = Number(argument);
  }
  return wanted;
}

function someNameOf(list: string): string | undefined {
  return list
    .split(',')
    .filter((one) => !one.startsWith('!'))
    .map((one) => one.replaceAll('*', 'x').replaceAll('?', 'x'))
    .find((name) => matchesPatternList(name, list));
}
