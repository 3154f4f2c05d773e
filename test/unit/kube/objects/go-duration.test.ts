import { describe, expect, it } from 'vitest';
import { goDurationMs } from '../../../../src/kube/objects/go-duration.ts';

describe('a duration as Go writes it', () => {
  it.each([
    ['1h0m0s', 3_600_000],
    ['24h', 86_400_000],
    ['1.5h', 5_400_000],
    ['90m', 5_400_000],
    ['300s', 300_000],
    ['.5s', 500],
    ['1h15m30.918s', 4_530_918],
    ['250ms', 250],
    ['0', 0],
  ])('%s', (text, milliseconds) => {
    expect(goDurationMs(text)).toBeCloseTo(milliseconds);
  });

  it.each(['', '3600', '1d', '-1h', '+1h', 'h', '.h', '1h ', ' 1h', '1h30', '9999999999h', 'x1h'])(
    'is not %j',
    (text) => {
      expect(goDurationMs(text)).toBeUndefined();
    },
  );
});
