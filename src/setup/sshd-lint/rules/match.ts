import { matchesAddressList, exampleAddress } from './addresses.ts';
import type { SshdConfigLine } from './config-lines.ts';
import { matchesList, matchesPattern, matchesPatternList } from './patterns.ts';

/** One `Match` of sshd_config(5), with the criteria around it if its file is included inside another Match. */
export interface MatchBlock {
  readonly file: string;
  readonly line: number;
  /** The criteria as written, without the keyword. */
  readonly text: string;
  readonly criteria: readonly MatchCriterion[];
  /** The first ForceCommand of the block, which is the effective one. */
  readonly forceCommand?: string;
}

export interface MatchCriterion {
  /** Lower case: `user`, `group`, `address`, `localport`, … or `all`. */
  readonly name: string;
  readonly argument: string;
}

/** The properties of a connection that `Match` can test. */
export interface SshdConnection extends SshdEndpoint {
  readonly user: string;
  /** Names of all the user's groups. */
  readonly groups: readonly string[];
}

/** Where a connection comes from, and sshd's address and port. */
export interface SshdEndpoint {
  readonly host: string;
  readonly address: string;
  readonly localAddress: string;
  readonly localPort: number;
}

/**
 * The criteria in the arguments of a Match, as `match_cfg_line` takes them; the argument of a criterion without one is
 * empty. Only releases since 9.9 leave `User=bob` one argument.
 */
export function parseMatchCriteria({ args }: Pick<SshdConfigLine, 'args'>): MatchCriterion[] {
  const criteria: MatchCriterion[] = [];
  const left = [...args];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (word.startsWith('#')) break;
    const [, joined, value] = joinedCriterion.exec(word) ?? [];
    const name = (joined ?? word).toLowerCase();
    const bare = name === 'all' || name === 'invalid-user';
    criteria.push({ name, argument: value ?? (bare ? '' : (left.shift() ?? '')) });
  }
  return criteria;
}

const joinedCriterion = /^(user|group|host|address|localaddress|localport|rdomain|version)=(.*)$/is;

const aboutUsers = new Set(['user', 'group']);

/** Whether this account meets the block's criteria about users and groups. */
export function matchesAccount(
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

/** `ga_match_pattern_list` of OpenSSH: one excluded group is enough to refuse. */
function groupsMatch(groups: readonly string[], list: string): boolean {
  return matchesList(list, (pattern) => groups.some((group) => matchesPattern(group, pattern)));
}

/**
 * Whether sshd applies the block to this connection.
 *
 * @returns undefined if the block has a criterion that is not known here (`version`, `rdomain`).
 */
export function matchesConnection(
  block: Pick<MatchBlock, 'criteria'>,
  connection: SshdConnection,
): boolean | undefined {
  return matchesAccount(block, connection) && matchesEndpoint(block, connection);
}

/** As `matchesConnection`, for what the block says about addresses, hosts and ports. */
export function matchesEndpoint(
  { criteria }: Pick<MatchBlock, 'criteria'>,
  endpoint: SshdEndpoint,
): boolean | undefined {
  let unknown = false;
  for (const { name, argument } of criteria) {
    const fits = fitsEndpoint(name, argument, endpoint);
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
    // Such a user cannot log in; `none` is a version that sshd does not have.
    case 'invalid-user':
    case 'none':
      return false;
    case 'host':
      return matchesPatternList(host.toLowerCase(), argument.toLowerCase());
    case 'address':
      return matchesAddressList(address, argument);
    case 'localaddress':
      return matchesAddressList(localAddress, argument);
    case 'localport':
      return Number(argument) === localPort;
    default:
      return undefined;
  }
}

/** The base endpoint, changed to meet the block's criteria. */
export function endpointMatching(block: MatchBlock, base: SshdEndpoint): SshdEndpoint {
  const wanted: { -readonly [Key in keyof SshdEndpoint]: SshdEndpoint[Key] } = { ...base };
  for (const { name, argument } of block.criteria) {
    if (name === 'host') wanted.host = someNameOf(argument) ?? base.host;
    else if (name === 'address') wanted.address = exampleAddress(argument) ?? base.address;
    else if (name === 'localaddress')
      wanted.localAddress = exampleAddress(argument) ?? base.localAddress;
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
