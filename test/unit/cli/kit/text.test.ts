import { describe, expect, it } from 'vitest';
import { durationText, timestamp } from '../../../../src/cli/kit/text.ts';
import { parseSeconds } from '../../../../src/cli/kit/parse-seconds.ts';

describe('times on the command line', () => {
  it.each([
    ['30s', 30],
    ['90m', 5400],
    ['24h', 86_400],
    ['1d', 86_400],
  ])('%s is %i seconds', (text, wanted) => {
    expect(parseSeconds(text, 'lifetime')).toBe(wanted);
  });

  it.each(['', '24', 'h', '-1h', '1.5h', '1h30m', '24H', ' 1h'])('%j is refused', (text) => {
    expect(() => parseSeconds(text, 'lifetime')).toThrow(
      expect.objectContaining({ code: 'usage', exitCode: 64 }) as Error,
    );
  });

  it.each([
    ['0s', undefined],
    ['2d', undefined],
    ['999999999d', undefined],
    ['9m', { least: '10m', most: '1h' }],
    ['61m', { least: '10m', most: '1h' }],
  ])('%j is refused, and the bounds are named', (text, bounds) => {
    expect(() => parseSeconds(text, 'timeout', bounds)).toThrow(/must be a time from \w+ to \w+/);
    expect(parseSeconds('1h', 'timeout', bounds)).toBe(3600);
  });

  it.each([
    [59, '59 s'],
    [3599, '1 h'],
    [28_740, '7 h 59 min'],
    [86_400, '24 h'],
    [30 * 86_400, '30 days'],
  ])('%i seconds are printed as %s', (count, text) => {
    expect(durationText(count)).toBe(text);
  });

  it('are printed in UTC', () => {
    expect(timestamp(1_800_000_000)).toBe('2027-01-15T08:00:00Z');
  });
});
