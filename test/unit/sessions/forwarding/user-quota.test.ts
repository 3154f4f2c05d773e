import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UserQuota } from '../../../../src/sessions/forwarding/user-quota.ts';
import { lineLogger } from '../../../../src/log.ts';

describe('the limit over all sessions of a user on a host', () => {
  let directory: string;
  let lines: string[];
  let made: UserQuota[];
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'berth-seats-'));
    [lines, made] = [[], []];
  });
  afterEach(async () => {
    for (const seats of made) await seats.end();
    await rm(directory, { recursive: true });
  });
  const session = (): UserQuota => {
    const log = lineLogger((line) => lines.push(line));
    const seats = new UserQuota({ directory, name: 'connections', blocks: 3, size: 4, log });
    made.push(seats);
    return seats;
  };
  const take = async (seats: UserQuota, count: number): Promise<number> => {
    const taken = await Promise.all(Array.from({ length: count }, () => seats.take()));
    return taken.filter(Boolean).length;
  };

  it('is counted over all sessions, in blocks, and logged once when it is reached', async () => {
    const [first, second] = [session(), session()];
    expect(await take(first, 5)).toBe(5);
    expect(await take(second, 6)).toBe(4);
    expect(await take(first, 6)).toBe(3);
    expect(await take(first, 6)).toBe(0);
    expect(lines.filter((line) => line.includes('not forwarded'))).toHaveLength(2);
    expect(lines[0]).toContain('most=12');
  });

  it('is released when a session ends, without leaving a file', async () => {
    const [first, second] = [session(), session()];
    expect(await take(first, 20)).toBe(12);
    await first.end();
    expect(await readdir(directory)).toEqual([]);
    expect(await take(second, 20)).toBe(12);
    expect(await take(first, 1)).toBe(0);
  });

  it('is released when a session is killed', async () => {
    const first = session();
    expect(await take(first, 12)).toBe(12);
    const { pid } = spawnSync('true');
    for (const name of await readdir(directory)) {
      const holder = await readlink(join(directory, name));
      await rm(join(directory, name));
      // The lock of a process that has ended.
      await symlink(holder.replace(/-\d+:(?=\d)/, `-${pid}:`), join(directory, name));
    }
    expect(await take(session(), 12)).toBe(12);
  });

  it('is zero if it cannot be counted', async () => {
    await rm(directory, { recursive: true });
    await writeFile(directory, 'no directory');
    expect(await take(session(), 3)).toBe(0);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('level=error');
  });
});
