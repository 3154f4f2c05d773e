import { describe, expect, it } from 'vitest';
import {
  claimText,
  isClosingElsewhere,
  isSecretHeld,
  lastClosed,
  otherClaims,
  sharedUntil,
} from '../../../../../../src/sessions/backends/pod/objects/node-claim.ts';

const now = Date.parse('2026-11-23T12:00:00Z');
const minutes = (count: number): number => count * 60_000;
const ago = (state: 'open' | 'closing', count: number): string =>
  claimText(state, 'berth-session', now - minutes(count));
const seen = (texts: Readonly<Record<string, string>>) =>
  otherClaims(
    Object.fromEntries(
      Object.entries(texts).map(([host, text]) => [`login.berth.dev/${host}`, text]),
    ),
    'login1.example.org',
    now,
  );

describe("the other login nodes' claims", () => {
  it('are valid for half an hour, and none of them is this node’s', () => {
    const { valid, expired } = seen({
      ...{ login1: ago('open', 0), login2: ago('open', 29), login3: ago('open', 31) },
    });
    expect([...valid.keys()]).toEqual(['login2']);
    expect(expired).toEqual(['login3']);
  });

  it('keep the pods until they expire, if the node has connections', () => {
    expect(sharedUntil(seen({}), now)).toBeUndefined();
    expect(sharedUntil(seen({ login2: ago('closing', 0) }), now)).toBeUndefined();
    expect(sharedUntil(seen({ login2: ago('open', 29), login3: ago('open', 10) }), now)).toBe(
      now + minutes(20),
    );
  });

  it('are removed if they are none', () => {
    expect(seen({ login2: 'open' })).toEqual({ valid: new Map(), expired: ['login2'] });
  });

  it('let a login wait while a node closes, but not for one that failed meanwhile', () => {
    expect(isClosingElsewhere(seen({ login2: ago('closing', 0) }), now)).toBe(true);
    expect(isClosingElsewhere(seen({ login2: ago('closing', 2) }), now)).toBe(false);
    expect(isClosingElsewhere(seen({ login2: ago('open', 0) }), now)).toBe(false);
  });
});

it("hold the Secret that the node's tokens are bound to", () => {
  const claims = seen({ login2: ago('open', 1) });
  expect(isSecretHeld(claims, 'berth-session')).toBe(true);
  expect(isSecretHeld(claims, 'berth-session-login1')).toBe(false);
});

it.each([
  ['1790000000', 1_790_000_000_000],
  ['', undefined],
  ['soon', undefined],
  ['-1', undefined],
])('when the last connection closed is read from %j', (text, time) => {
  expect(lastClosed({ 'berth.dev/ssh-closed': text })).toBe(time);
});
