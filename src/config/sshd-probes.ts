import {
  endpointInto,
  fitsAccount,
  type MatchBlock,
  type SshdConnection,
  type SshdEndpoint,
  takesBlock,
} from './sshd-match.ts';
import type { SshdFinding } from './sshd-finding.ts';

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
 * @param refusedBy why sshd's global options do not let an account in
 */
export function representatives(
  accounts: readonly ProbeAccount[],
  blocks: readonly MatchBlock[],
  refusedBy: (account: ProbeAccount) => string | undefined,
): Representative[] {
  const kinds = new Map<string, { first: ProbeAccount; alike: number }>();
  for (const account of accounts) {
    const fitting = fittingBlocks(account, blocks).join(' ');
    const kind = `${fitting}\n${account.shell ?? ''}\n${account.uid === 0}\n${refusedBy(account) ?? ''}`;
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

/** The base, and for each Match block that asks for another address, port or host one that enters it. */
export function endpoints(blocks: readonly MatchBlock[], base: SshdEndpoint): SshdEndpoint[] {
  const all = [base, ...blocks.map((block) => endpointInto(block, base))];
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
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

/** Match blocks whose ForceCommand never counts, and those that no connection entered. */
export function matchFindings(
  blocks: readonly MatchBlock[],
  tried: readonly TriedConnection[],
): MatchFinding[] {
  return blocks.flatMap((block): MatchFinding[] => {
    const place = { file: block.file, line: block.line };
    const entered = tried.filter(({ connection }) => takesBlock(block, connection) === true);
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
