import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { leadOrFollow } from '../../../../src/sessions/forwarding/leader-election.ts';

describe('which of a user’s sessions forwards their ports', () => {
  let directory: string;
  let happened: string[];
  let sessions: { readonly end: AbortController; readonly ended: Promise<void> }[];
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'berth-election-'));
    [happened, sessions] = [[], []];
  });
  afterEach(async () => {
    for (const { end, ended } of sessions) {
      end.abort();
      await ended;
    }
    await rm(directory, { recursive: true });
  });

  /** @param sync what it answers to others while it leads */
  function start(name: string, sync: () => Promise<boolean>): AbortController {
    const end = new AbortController();
    const lead = (): Promise<{ sync: () => Promise<boolean>; over: Promise<void> }> => {
      happened.push(`${name} leads`);
      return Promise.resolve({ sync, over: new Promise(() => undefined) });
    };
    const ended = leadOrFollow({ place: join(directory, 'place'), lead, signal: end.signal }, () =>
      happened.push(`${name} may start`),
    );
    sessions.push({ end, ended });
    return end;
  }

  it('one leads, and the next starts once the leader has looked again', async () => {
    start('first', () => {
      happened.push('first looks');
      return Promise.resolve(true);
    });
    await expect.poll(() => happened).toContain('first may start');
    start('second', () => Promise.resolve(true));
    await expect
      .poll(() => happened)
      .toEqual(['first leads', 'first may start', 'first looks', 'second may start']);
  });

  it('a leader that is about to end answers nobody: who asked leads after it', async () => {
    const asked = Promise.withResolvers<string>();
    const first = start('first', () => {
      asked.resolve('by second');
      return Promise.resolve(false);
    });
    await expect.poll(() => happened).toContain('first may start');
    start('second', () => Promise.resolve(true));
    await asked.promise;
    first.abort();
    await expect.poll(() => happened).toContain('second leads');
    expect(happened.indexOf('second leads')).toBeLessThan(happened.indexOf('second may start'));
  });
});
