import { hostLabel } from '../../../../system/program/session-id.ts';

/**
 * What a login node writes on a user's namespace while it has connections of the user. The user cannot write the namespace.
 *
 * `login.berth.dev/login1: open 1790000000 berth-session`: the time in seconds since the epoch, and the Secret of the
 * node's tokens. A node renews it while it has connections; of a node that failed it expires. Before a node deletes the pods that all nodes share, it changes its claim to `closing`.
 */
export interface NodeClaim {
  readonly state: 'open' | 'closing';
  /** When it was written. Milliseconds since the epoch. */
  readonly written: number;
  /** When it expires. Milliseconds since the epoch. */
  readonly until: number;
  /** Name of the Secret to which the node's tokens are bound. */
  readonly secret: string;
}

/** How long a claim is valid. Milliseconds. */
const validMs = 30 * 60_000;

/** Age at which a node renews its claim, in milliseconds: `berth reap` may miss some runs before it expires. */
export const renewClaimMs = 10 * 60_000;

const prefix = 'login.berth.dev/';

/** When the user's last connection to any login node closed, in seconds since the epoch. */
export const lastClosedAnnotation = 'berth.dev/ssh-closed';

export function claimAnnotation(loginHost: string): string {
  return prefix + hostLabel(loginHost);
}

/** The annotation's value. @param now milliseconds since the epoch */
export function claimText(state: NodeClaim['state'], secret: string, now: number): string {
  return `${state} ${Math.floor(now / 1000)} ${secret}`;
}

type Annotations = Readonly<Record<string, string>>;

/** The claims of other login nodes, by `hostLabel`. */
export interface OtherClaims {
  readonly valid: ReadonlyMap<string, NodeClaim>;
  /** Of these nodes the claim has expired, and is to be removed. */
  readonly expired: readonly string[];
}

/** @param now milliseconds since the epoch */
export function otherClaims(annotations: Annotations, loginHost: string, now: number): OtherClaims {
  const valid = new Map<string, NodeClaim>();
  const expired: string[] = [];
  for (const [key, text] of Object.entries(annotations)) {
    if (!key.startsWith(prefix) || key === claimAnnotation(loginHost)) continue;
    const host = key.slice(prefix.length);
    const claim = parse(text);
    if (claim !== undefined && claim.until > now) valid.set(host, claim);
    else expired.push(host);
  }
  return { valid, expired };
}

/** The login nodes with connections of the user, by `hostLabel`. @param now milliseconds since the epoch */
export function openNodes(annotations: Annotations, now: number): readonly string[] {
  return Object.entries(annotations)
    .flatMap(([key, text]) => {
      const claim = key.startsWith(prefix) ? parse(text) : undefined;
      const isOpen = claim?.state === 'open' && claim.until > now;
      return isOpen ? [key.slice(prefix.length)] : [];
    })
    .sort();
}

function parse(text: string): NodeClaim | undefined {
  const [, state, seconds, secret] = /^(open|closing) ([0-9]{1,12}) (\S+)$/.exec(text) ?? [];
  if (secret === undefined) return undefined;
  const written = Number(seconds) * 1000;
  const until = written + validMs;
  return { state: state === 'closing' ? 'closing' : 'open', written, until, secret };
}

/** Whether another node needs the Secret. */
export function isSecretHeld({ valid }: OtherClaims, name: string): boolean {
  return [...valid.values()].some(({ secret }) => secret === name);
}

/** When the user's last connection closed, as the namespace says. Milliseconds since the epoch. */
export function lastClosed(annotations: Annotations): number | undefined {
  const seconds = Number(annotations[lastClosedAnnotation]);
  return Number.isSafeInteger(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}

/**
 * Until when other nodes may have connections that use the pods of all nodes; each may renew its claim until then.
 *
 * @param now milliseconds since the epoch
 * @returns milliseconds since the epoch; undefined if no node has
 */
export function sharedUntil({ valid }: OtherClaims, now: number): number | undefined {
  const open = [...valid.values()].filter(({ state }) => state === 'open');
  if (open.length === 0) return undefined;
  return Math.max(...open.map(({ until }) => Math.min(until, now + validMs)));
}

/** Longest time between `closing` and the end of that cleanup, with the difference of two clocks. Milliseconds. */
const closingMs = 60_000;

/** Whether another node is about to delete the pods of all nodes. @param now milliseconds since the epoch */
export function isClosingElsewhere({ valid }: OtherClaims, now: number): boolean {
  return [...valid.values()].some(
    ({ state, written }) => state === 'closing' && written > now - closingMs,
  );
}
