import { describe, expect, it } from 'vitest';
import { parseLimitNote } from '../../../../src/sessions/backends/limit-notes.ts';

const name = 'limits-12.345.678';
const note = { profile: 'gpu', place: 'job 4711', endsAt: 1_800_000_000_000 };

describe('the note of a login about the limits of its session', () => {
  it('is of its connection', () => {
    expect(parseLimitNote(name, JSON.stringify(note))).toEqual({ connection: '12.345', ...note });
  });

  it.each([
    ['escape sequences for the terminal', { ...note, place: 'pod \u001b]0;x\u0007' }],
    ['another sentence', { ...note, place: 'job 1 is over. Call 555' }],
    ['a container, which the reaper sees itself', { ...note, place: 'container berth-gpu' }],
    ['no profile', { ...note, profile: 1 }],
    ['nothing', null],
  ])('is none with %s', (_, text) => {
    expect(parseLimitNote(name, JSON.stringify(text))).toBeUndefined();
  });

  it('has no end that is no number', () => {
    const text = JSON.stringify({ ...note, endsAt: 'soon' });
    expect(parseLimitNote(name, text)?.endsAt).toBeUndefined();
  });

  it.each([
    ['of no connection', 'limits-0.0x.1', JSON.stringify(note)],
    ['that is no JSON', name, '{'],
  ])('is none in a file %s', (_, file, text) => {
    expect(parseLimitNote(file, text)).toBeUndefined();
  });
});
