import { describe, expect, it } from 'vitest';
import { tokenState } from '../../../../src/clusters/access/token-state.ts';

const now = 1_800_000_000;
const hour = 3600;

function jwt(claims: Record<string, unknown>): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'RS256' })}.${part(claims)}.c2ln`;
}

describe("the state of root's token", () => {
  it.each([
    ['fresh, for 24 hours', { iat: now, exp: now + 24 * hour }, 'good'],
    ['renewed 8 hours ago', { iat: now - 8 * hour, exp: now + 16 * hour }, 'good'],
    ['not renewed twice', { iat: now - 17 * hour, exp: now + 7 * hour }, 'soon'],
    ["OSC's 9 hours, just made", { iat: now, exp: now + 9 * hour }, 'good'],
    ['over', { iat: now - 24 * hour, exp: now }, 'expired'],
    ['without its beginning, half an hour left', { exp: now + 1800 }, 'soon'],
    ['without its beginning, a day left', { exp: now + 24 * hour }, 'good'],
  ] as const)('%s: %j is %s', (_case, claims, state) => {
    expect(tokenState(jwt(claims), now)).toMatchObject({ expires: claims.exp, state });
  });

  it('is unknown where the token does not say it', () => {
    expect(tokenState('0123456789abcdef', now)).toEqual({ state: 'unknown' });
    expect(tokenState(jwt({ sub: 'a' }), now)).toEqual({ state: 'unknown' });
    expect(tokenState(undefined, now)).toEqual({ state: 'unknown' });
  });
});
