import { describe, expect, it } from 'vitest';
import { measured } from '../../bench/measured-ratio.ts';
import { type Checked, regressions } from '../../bench/regressions.ts';

const lower = (value: number, noise = 0.1): Checked => ({ value, noise, better: 'lower' });
const higher = (value: number, noise = 0.1): Checked => ({ value, noise, better: 'higher' });

describe('regressions', () => {
  it('names a ratio that has become worse by more than both runs vary', () => {
    expect(
      regressions({ 'A later login: wall': lower(1.5) }, { 'A later login: wall': lower(1.2) }),
    ).toEqual(['A later login: wall: 1.50, was 1.20 (lower is better); the runs vary by 0.20']);
    expect(regressions({ a: higher(7) }, { a: higher(8) })).toHaveLength(1);
  });

  it.each([
    ['within the noise', lower(1.35), lower(1.2)],
    ['better', lower(0.5), lower(1.2)],
    ['better, where more is better', higher(9), higher(8)],
  ])('says nothing of one that is %s', (_, now, before) => {
    expect(regressions({ a: now }, { a: before })).toEqual([]);
  });

  it('takes what does not vary at its word', () => {
    expect(regressions({ requests: lower(6, 0) }, { requests: lower(5, 0) })).toHaveLength(1);
    expect(regressions({ requests: lower(5, 0) }, { requests: lower(5, 0) })).toEqual([]);
  });

  it('does not compare what only one run has', () => {
    expect(regressions({ a: lower(9) }, { b: lower(1) })).toEqual([]);
  });
});

describe('the noise of a ratio', () => {
  const ratio = ([a = 0, b = 1]: readonly number[]): number => a / b;
  const around = (middle: number, spread: number): number[] =>
    Array.from({ length: 25 }, (_, index) => middle + spread * (((index * 7) % 25) / 12 - 1));

  it('is none if all runs take the same time', () => {
    expect(measured([around(100, 0), around(50, 0)], ratio)).toEqual({ value: 2, noise: 0 });
  });

  it('grows with how much the runs vary', () => {
    const noises = [2, 10].map((spread) => measured([around(100, spread), around(50, 0)], ratio));
    const [quiet = 0, busy = 0] = noises.map(({ noise }) => noise);
    expect(quiet).toBeGreaterThan(0);
    expect(busy).toBeGreaterThan(3 * quiet);
    expect(busy).toBeLessThan(0.2);
  });

  it('is small if both commands of a round are slow at once', () => {
    const together = measured([around(100, 30), around(50, 15)], ratio);
    expect(together.noise).toBeLessThan(0.02);
  });
});
