import { describe, expect, it } from 'vitest';
import { BerthError, type ErrorDetails } from '../../../../src/system/errors/berth-error.ts';
import { userAdvice } from '../../../../src/sessions/request/user-advice.ts';

const adviceOf = (more: Partial<ErrorDetails>): string =>
  userAdvice(
    new BerthError('usage', 'no', { exit: 'config', hint: 'Run `berth doctor`.', ...more }),
  );

describe('userAdvice', () => {
  it('is the hint only where that is for the user', () => {
    expect(adviceOf({ hint: 'Log in again.', forUser: true })).toBe('Log in again.');
    expect(adviceOf({})).toMatch(/^Please send this line to the admins/);
  });

  it.each([
    'pod-quota',
    'pod-evicted',
    'pod-time-limit',
    'pod-lost',
    'exec-connection-lost',
  ] as const)('of %s is what the user can do, without commands for admins', (code) => {
    const advice = userAdvice(new BerthError(code, 'no', { forUser: true }));
    expect(advice).toMatch(/^[A-Z][^`]+\.$/);
    expect(advice).not.toContain('Admins');
  });

  it('says to try again where that may help', () => {
    expect(adviceOf({ exit: 'temporary' })).toMatch(/^Try again .* send this line to the admins/);
  });
});
