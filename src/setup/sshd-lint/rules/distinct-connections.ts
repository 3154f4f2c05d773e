import { type MatchBlock, matchesEndpoint, type SshdConnection } from './match.ts';
import { matchingBlocks } from './match-coverage.ts';

interface Probe {
  readonly connection: SshdConnection;
}

/** Indexes of blocks. */
interface Taken {
  /** Those that apply to a connection. */
  readonly entered: readonly number[];
  /** Those that may, with a criterion that is not known here. */
  readonly unsure: readonly number[];
}

/** The blocks that a connection takes: as `matchesConnection`, for many connections of the same accounts and endpoints. */
function takenOf(blocks: readonly MatchBlock[]): (probe: Probe) => Taken {
  const ofAccount = new Map<string, readonly number[]>();
  const ofEndpoint = new Map<string, readonly (boolean | undefined)[]>();
  return ({ connection }) => {
    const { user, groups, host, address, localAddress, localPort } = connection;
    const fitting = ofAccount.get(user) ?? matchingBlocks({ name: user, groups }, blocks);
    ofAccount.set(user, fitting);
    const endpoint = [host, address, localAddress, localPort].join(' ');
    const there =
      ofEndpoint.get(endpoint) ?? blocks.map((block) => matchesEndpoint(block, connection));
    ofEndpoint.set(endpoint, there);
    return {
      entered: fitting.filter((index) => there[index] === true),
      unsure: fitting.filter((index) => there[index] === undefined),
    };
  };
}

/** Leaves out connections to which the same Match blocks apply as to an earlier one of the same account. */
export function distinctConnections<One extends Probe>(
  probes: readonly One[],
  blocks: readonly MatchBlock[],
): One[] {
  const kinds = new Map<string, One>();
  const taken = takenOf(blocks);
  for (const probe of probes) {
    const { entered, unsure } = taken(probe);
    const kind = `${probe.connection.user} ${entered.join(' ')} ? ${unsure.join(' ')}`;
    if (!kinds.has(kind)) kinds.set(kind, probe);
  }
  return [...kinds.values()];
}

/**
 * For each block whose tried connections sshd all refuses: the first other connection that enters it.
 *
 * @param letIn whether sshd lets a connection in; undefined for one that was not tried
 */
export function othersOf<One extends Probe>(
  probes: readonly One[],
  blocks: readonly MatchBlock[],
  letIn: (probe: One) => boolean | undefined,
): One[] {
  const taken = takenOf(blocks);
  const done = new Set<number>();
  const refused = new Set<number>();
  for (const probe of probes) {
    const isLetIn = letIn(probe);
    if (isLetIn === undefined) continue;
    for (const block of taken(probe).entered) (isLetIn ? done : refused).add(block);
  }
  const others = new Set<One>();
  const left = new Set([...refused].filter((block) => !done.has(block)));
  for (const probe of probes) {
    if (left.size === 0) break;
    if (letIn(probe) !== undefined) continue;
    const entered = taken(probe).entered.filter((block) => left.delete(block));
    if (entered.length > 0) others.add(probe);
  }
  return [...others];
}

/**
 * Enough connections that each block is entered which any of them enters, and others up to a limit.
 *
 * @param most more only if the blocks need them
 * @returns in their order
 */
export function chosenOf<One extends Probe>(
  probes: readonly One[],
  blocks: readonly MatchBlock[],
  most: number,
): One[] {
  if (probes.length <= most) return [...probes];
  const entered = probes.map(takenOf(blocks)).map((taken) => taken.entered);
  const chosen = new Set<One>();
  const before = new Set<number>();
  // Those first that enter several blocks that no other does.
  for (const gain of [8, 4, 3, 2, 1])
    for (const [index, probe] of probes.entries()) {
      const added = entered[index]?.filter((block) => !before.has(block)) ?? [];
      if (added.length < gain) continue;
      chosen.add(probe);
      for (const block of added) before.add(block);
    }
  for (const probe of probes) {
    if (chosen.size >= most) break;
    chosen.add(probe);
  }
  return probes.filter((probe) => chosen.has(probe));
}
