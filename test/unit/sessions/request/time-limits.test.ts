import { describe, expect, it } from 'vitest';
import { isWarningDue, warningText } from '../../../../src/sessions/request/time-limits.ts';

const minute = 60_000;
const end = 1_800_000_000_000;
/** How many minutes before the end a session is told, if it is looked at so often. */
const told = (
  everySeconds: number,
  { from = 20, warn }: { from?: number; warn?: number[] } = {},
): number[] => {
  const found: number[] = [];
  let looked: number | undefined;
  for (let now = end - from * minute; now < end + minute; now += everySeconds * 1000) {
    if (isWarningDue(end, warn, { looked, now })) found.push((end - now) / minute);
    looked = now;
  }
  return found;
};

describe('the terminals of a session with a time limit', () => {
  it('are told once for each moment, and never so late that the next look is after it', () => {
    expect(told(60)).toEqual([16, 6, 2]);
    for (const seconds of [10, 30, 61, 65, 70]) {
      const minutes = told(seconds);
      expect(minutes).toHaveLength(3);
      for (const [index, before] of [15, 5, 1].entries()) {
        expect(minutes[index]).toBeGreaterThan(before);
        expect(minutes[index]).toBeLessThanOrEqual(before + 70 / 60);
      }
    }
  });

  it('are told the time to the nearest minute', () => {
    const minutes = [970, 330, 130, 20].map(
      (seconds) => /about (.*)\./.exec(warningText('job 7', seconds * 1000))?.[1],
    );
    expect(minutes).toEqual([
      '16 minutes. Save your work',
      '6 minutes. Save your work',
      '2 minutes. Save your work',
      '1 minute. Save your work',
    ]);
  });

  it('are told at once if they came after a moment, and then at the later ones', () => {
    expect(told(60, { from: 10 })).toEqual([10, 6, 2]);
  });

  it('are told nothing without moments, and nothing after the end', () => {
    expect(told(60, { warn: [] })).toEqual([]);
    expect(isWarningDue(end, undefined, { now: end })).toBe(false);
  });
});
