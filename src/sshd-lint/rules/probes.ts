import {
  endpointInto,
  fitsAccount,
  type MatchBlock,
  type SshdConnection,
  type SshdEndpoint,
  takesBlock,
} from './match.ts';
import type { SshdFinding } from './finding.ts';

/** An account as far as sshd can tell it from others. */
export interface ProbeAccount {
  readonly name: string;
  readonly uid: number;
  readonly groups: readonly string[];
  /** Absent for an account that stands for whoever else may come. */
  readonly shell?: string;
}

/** One account, and how many there are that no Match block and no shell tells from it. */
export interface Representative extends ProbeAccount {
  readonly alike: number;
}

/**
 * One account of each kind: those with the same shell that fit the same Match blocks and are let in
 * alike have the same doors.
 *
 * @param access what differs between accounts that are not let in alike
 */
export function representatives(
  accounts: readonly ProbeAccount[],
  blocks: readonly MatchBlock[],
  access: (account: ProbeAccount) => string,
): Representative[] {
  const kinds = new Map<string, { first: ProbeAccount; alike: number }>();
  for (const account of accounts) {
    const fitting = fittingBlocks(account, blocks).join(' ');
    const kind = `${fitting}\n${account.shell ?? ''}\n${account.uid === 0}\n${access(account)}`;
    const before = kinds.get(kind);
    if (before === undefined) kinds.set(kind, { first: account, alike: 0 });
    else before.alike += 1;
  }
  return [...kinds.values()].map(({ first, alike }) => ({ ...first, alike }));
}

/** Indexes of the blocks whose `User` and `Group` this account fits. */
export function fittingBlocks(
  { name, groups }: Pick<ProbeAccount, 'name' | 'groups'>,
  blocks: readonly MatchBlock[],
): number[] {
  return [...blocks.keys()].filter((index) => {
    const block = blocks[index];
    return block !== undefined && fitsAccount(block, { user: name, groups });
  });
}

/**
 * The base, and for each Match block that asks for another address, port or host one that enters it.
 *
 * @param ports that somebody listens on: to others nobody comes
 */
export function endpoints(
  blocks: readonly MatchBlock[],
  base: SshdEndpoint,
  ports: ReadonlySet<number>,
): SshdEndpoint[] {
  const all = [base, ...blocks.map((block) => endpointInto(block, base))];
  const reachable = all.filter(({ localPort }) => ports.has(localPort));
  return [...new Map(reachable.map((one) => [JSON.stringify(one), one])).values()];
}

/** Connections of which no other one enters the same Match blocks as the same account. */
export function distinctConnections<Probe extends { readonly connection: SshdConnection }>(
  probes: readonly Probe[],
  blocks: readonly MatchBlock[],
): Probe[] {
  const kinds = new Map<string, Probe>();
  for (const probe of probes) {
    const taken = blocks.map((block) => takesBlock(block, probe.connection) ?? 'unknown');
    const kind = `${probe.connection.user} ${taken.join(' ')}`;
    if (!kinds.has(kind)) kinds.set(kind, probe);
  }
  return [...kinds.values()];
}

/** A connection that was tried, with the forced command that sshd then used. */
export interface TriedConnection {
  readonly connection: SshdConnection;
  readonly forceCommand?: string;
}

/** A finding about a place in the configuration, not about a user. */
export interface MatchFinding extends SshdFinding {
  readonly file: string;
  readonly line: number;
}

/**
 * Match blocks whose ForceCommand never counts, and those that no connection entered.
 *
 * @param leftOut connections that were not tried; the blocks that they enter are not named one by one
 * @param ports that somebody listens on: a block for another one is of no consequence
 */
export function matchFindings(
  blocks: readonly MatchBlock[],
  tried: readonly TriedConnection[],
  leftOut: readonly SshdConnection[],
  ports: ReadonlySet<number>,
): MatchFinding[] {
  const reachable = blocks.filter((block) => isReachable(block, ports));
  return reachable.flatMap((block): MatchFinding[] => {
    const place = { file: block.file, line: block.line };
    const entered = tried.filter(({ connection }) => takesBlock(block, connection) === true);
    if (entered.length === 0 && leftOut.some((one) => takesBlock(block, one) === true)) return [];
    if (entered.length === 0)
      return [
        {
          ...place,
          code: 'match-not-probed',
          severity: 'advice',
          message: `no known account and no address of ours enters Match ${block.text}: it was not looked at`,
          closedBy: 'berth lint sshd --user NAME, with an account that enters it',
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
        code: 'match-overridden',
        severity: 'weakness',
        message: `ForceCommand of Match ${block.text} never counts: ${loser.connection.user} has ${loser.forceCommand ?? 'none'} of an earlier Match`,
        closedBy: 'the Match for fewer people before the one for more: the first value counts',
      },
    ];
  });
}

function isReachable({ criteria }: MatchBlock, ports: ReadonlySet<number>): boolean {
  return criteria.every(
    ({ name, argument }) => name !== 'localport' || ports.has(Number(argument)),
  );
}
