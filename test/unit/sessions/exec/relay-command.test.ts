import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { IdleWatchdog } from '../../../../src/sessions/exec/relay-command.ts';

const second = 1000;
let asked: number;
let input: IdleWatchdog;
beforeEach(() => {
  vi.useFakeTimers();
  asked = 0;
  input = new IdleWatchdog(20 * second, () => (asked += 1));
});
afterEach(() => {
  vi.useRealTimers();
});

it('does not check a command without input', () => {
  vi.advanceTimersByTime(3600 * second);
  expect(asked).toBe(0);
});

it('checks after 20 s, and then at most once a minute, even if more is sent', () => {
  const times: number[] = [];
  for (let at = 1; at <= 240; at += 1) {
    input.sent();
    vi.advanceTimersByTime(second);
    if (asked > times.length) times.push(at);
  }
  expect(times).toEqual([20, 60, 120, 180, 240]);
});

it('starts again with the next input after output', () => {
  input.sent();
  vi.advanceTimersByTime(19 * second);
  input.onActivity();
  vi.advanceTimersByTime(60 * second);
  expect(asked).toBe(0);
  input.sent();
  vi.advanceTimersByTime(20 * second);
  expect(asked).toBe(1);
});
