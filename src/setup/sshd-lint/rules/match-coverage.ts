import type { SshdDirective } from './directives.ts';
import {
  endpointMatching,
  type MatchBlock,
  matchesAccount,
  matchesConnection,
  type SshdConnection,
  type SshdEndpoint,
} from './match.ts';
import type { SshdOptions } from './options.ts';
import { userOfEntry } from './patterns.ts';
import { advice, type SshdFinding, weakness } from './sshd-finding.ts';

/** An account, with what sshd can distinguish it by. */
export interface LintAccount {
  readonly name: string;
  readonly uid: number;
  readonly groups: readonly string[];
  /** Absent for an account that stands for users who are not in passwd. */
  readonly shell?: string;
}

/** An account, and how many others have the same shell, Match blocks and access. */
export interface LintAccountGroup extends LintAccount {
  readonly alike: number;
}

/**
 * One account of each kind: accounts with the same shell, the same Match blocks and the same access get the same
 * findings.
 *
 * @param access Returns a key that differs for accounts with different access.
 */
export function groupAccounts(
  accounts: readonly LintAccount[],
  blocks: readonly MatchBlock[],
  access: (account: LintAccount) => string,
): LintAccountGroup[] {
  const kinds = new Map<string, { first: LintAccount; alike: number }>();
  const blocksOf = matchingBlocksByGroups(blocks);
  for (const account of accounts) {
    const fitting = blocksOf(account).join(' ');
    const kind = `${fitting}\n${account.shell ?? ''}\n${account.uid === 0}\n${access(account)}`;
    const before = kinds.get(kind);
    if (before === undefined) kinds.set(kind, { first: account, alike: 0 });
    else before.alike += 1;
  }
  return [...kinds.values()].map(({ first, alike }) => ({ ...first, alike }));
}

/** As `matchingBlocks`, for many accounts: blocks about groups are compared once with each combination of groups. */
function matchingBlocksByGroups(
  blocks: readonly MatchBlock[],
): (account: LintAccount) => readonly number[] {
  const only = (wanted: string): Pick<MatchBlock, 'criteria'>[] =>
    blocks.map(({ criteria }) => ({ criteria: criteria.filter(({ name }) => name === wanted) }));
  const [aboutGroups, aboutUsers] = [only('group'), only('user')];
  const fits = (block: Pick<MatchBlock, 'criteria'> | undefined, account: LintAccount): boolean =>
    block !== undefined &&
    (block.criteria.length === 0 ||
      matchesAccount(block, { user: account.name, groups: account.groups }));
  const byGroups = new Map<string, readonly number[]>();
  return (account) => {
    const key = account.groups.join('\n');
    const inGroups =
      byGroups.get(key) ?? [...blocks.keys()].filter((index) => fits(aboutGroups[index], account));
    byGroups.set(key, inGroups);
    return inGroups.filter((index) => fits(aboutUsers[index], account));
  };
}

/** Indexes of the blocks whose `User` and `Group` match this account. */
export function matchingBlocks(
  { name, groups }: Pick<LintAccount, 'name' | 'groups'>,
  blocks: readonly MatchBlock[],
): number[] {
  return [...blocks.keys()].filter((index) => {
    const block = blocks[index];
    return block !== undefined && matchesAccount(block, { user: name, groups });
  });
}

/**
 * The base, and for each Match block with a criterion about address, port or host an endpoint that meets it.
 *
 * @param ports Ports on which any program listens; endpoints with other ports are left out.
 */
export function matchEndpoints(
  blocks: readonly MatchBlock[],
  base: SshdEndpoint,
  ports: ReadonlySet<number>,
): SshdEndpoint[] {
  const all = [base, ...blocks.map((block) => endpointMatching(block, base))];
  const reachable = all.filter(({ localPort }) => ports.has(localPort));
  return [...new Map(reachable.map((one) => [JSON.stringify(one), one])).values()];
}

/** An evaluated connection, with the ForceCommand that sshd used. */
export interface EvaluatedConnection {
  readonly connection: SshdConnection;
  readonly forceCommand?: string;
}

/** A finding about a line of the configuration, not about a user. */
export interface MatchFinding extends SshdFinding {
  readonly file: string;
  readonly line: number;
}

/**
 * Finds Match blocks whose ForceCommand is never used, and blocks that applied to no evaluated connection.
 *
 * @param ports Ports on which any program listens; blocks for other ports are not reported.
 */
export function matchFindings(
  blocks: readonly MatchBlock[],
  tried: readonly EvaluatedConnection[],
  ports: ReadonlySet<number>,
): MatchFinding[] {
  const reachable = blocks.filter((block) =>
    block.criteria.every(
      ({ name, argument }) =>
        name !== 'invalid-user' &&
        name !== 'none' &&
        (name !== 'localport' || ports.has(Number(argument))),
    ),
  );
  return reachable.flatMap((block): MatchFinding[] => {
    const place = { file: block.file, line: block.line };
    const entered = tried.filter(({ connection }) => matchesConnection(block, connection) === true);
    if (entered.length === 0)
      return [
        {
          ...place,
          ...advice(
            'match-not-probed',
            `no known account or address matches Match ${block.text}, so it was not checked`,
            'run berth sshd lint --user NAME with an account that matches',
          ),
        },
      ];
    const { forceCommand } = block;
    if (forceCommand === undefined) return [];
    const wanted = forceCommand.toLowerCase() === 'none' ? undefined : forceCommand;
    const loser = entered.every((one) => one.forceCommand !== wanted) ? entered[0] : undefined;
    if (loser === undefined) return [];
    return [
      {
        ...place,
        ...weakness(
          'match-overridden',
          `ForceCommand of Match ${block.text} is never used: ${loser.connection.user} gets ${loser.forceCommand ?? 'none'} from an earlier Match`,
          'move the more specific Match before the other one: sshd uses the first value that it finds',
        ),
      },
    ];
  });
}

/** What NSS does not tell. */
export interface UnlistedAccounts {
  /** Services that do not list all their accounts; empty if NSS lists all accounts. */
  readonly services: readonly string[];
  /** Names of groups that do not exist. */
  readonly missingGroups: ReadonlySet<string>;
}

/**
 * Reports that sshd may admit accounts that nobody can list, so that they were not evaluated. AllowUsers with names is
 * looked up; the people of a pattern are not known, nor those whose primary group is named. DenyUsers and DenyGroups
 * count as if they denied nobody.
 *
 * @param base Options for a connection that no Match names.
 */
export function unlistedFindings(
  { services, missingGroups }: UnlistedAccounts,
  base: Pick<SshdOptions, 'allowUsers' | 'allowGroups'>,
  directives: readonly SshdDirective[],
): SshdFinding[] {
  if (services.length === 0) return [];
  const open = (keyword: string, isOpen: (entry: string) => boolean) =>
    directives.find((one) => one.keyword === keyword && one.args.some(isOpen));
  const users = open('allowusers', (entry) => isPattern(userOfEntry(entry)));
  const groups = open('allowgroups', (entry) => isPattern(entry) || !missingGroups.has(entry));
  const closed =
    (base.allowUsers.length > 0 && users === undefined) ||
    (base.allowGroups.length > 0 && groups === undefined);
  if (closed) return [];
  const [line] = [groups, users].filter((one) => one !== undefined);
  const names = (line?.args ?? []).map((entry) => JSON.stringify(entry)).join(' ');
  const whom =
    line === undefined
      ? 'sshd admits every account'
      : `${line === groups ? 'AllowGroups' : 'AllowUsers'} ${names} may admit more accounts than were found`;
  return [
    {
      ...advice(
        'accounts-not-evaluated',
        `${whom}, and NSS does not list all accounts of ${services.join(', ')}, so those were not checked`,
        'run berth sshd lint --user NAME for one of these accounts of each shell and group; remove a service without accounts from passwd in /etc/nsswitch.conf',
      ),
      ...(line && { place: `${line.file}:${line.line}` }),
    },
  ];
}

/** Whether an entry names more than one user or group. */
export function isPattern(entry: string): boolean {
  return /[*?]/.test(entry);
}
