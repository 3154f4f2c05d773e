import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { UnansweredInput } from '../../../../../src/ssh/pod/exec/idle-watchdog.ts';

const second = 1000;
let asked: number;
let input: UnansweredInput;
beforeEach(() => {
  vi.useFakeTimers();
  asked = 0;
  input = new UnansweredInput(20 * second, () => (asked += 1));
});
afterEach(() => {
  vi.useRealTimers();
});

it('does not ask of a command that was sent nothing', () => {
  vi.advanceTimersByTime(3600 * second);
  expect(asked).toBe(0);
});

it('asks after 20 s, and then at most each minute, whatever is sent meanwhile', () => {
  const times: number[] = [];
  for (let at = 1; at <= 240; at += 1) {
    input.sent();
    vi.advanceTimersByTime(second);
    if (asked > times.length) times.push(at);
  }
  expect(times).toEqual([20, 60, 120, 180, 240]);
});

it('begins anew with the next that is sent after a word', () => {
  input.sent();
  vi.advanceTimersByTime(19 * second);
  input.heard();
  vi.advanceTimersByTime(60 * second);
  expect(asked).toBe(0);
  input.sent();
  vi.advanceTimersByTime(20 * second);
  expect(asked).toBe(1);
});
