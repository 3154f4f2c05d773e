import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { subordinateRanges } from '../../../../src/system/identity/subordinate-ranges.ts';

const alice = { name: 'alice', uid: 1000 };

it('ranges are those of the name and of the UID, and a replaced file is read again', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'subordinate-'));
  try {
    const file = join(directory, 'subuid');
    expect(await subordinateRanges(alice, file)).toEqual([]);
    await writeFile(file, '1000:500:5\nbob:600:6\nalice:700:7\nalice:0:1\n');
    const starts = async (): Promise<number[]> =>
      (await subordinateRanges(alice, file)).map(({ start }) => start);
    expect(await starts()).toEqual([700, 500]);
    await writeFile(`${file}.new`, 'alice:900:7\n');
    await rename(`${file}.new`, file);
    expect(await starts()).toEqual([900]);
  } finally {
    await rm(directory, { recursive: true });
  }
});

it('60,000 lines are not read again for each user', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'subordinate-'));
  try {
    const file = join(directory, 'subuid');
    const lines = Array.from({ length: 60_000 }, (_, index) => `u${index}:${1e6 + index * 9}:9\n`);
    await writeFile(file, lines.join(''));
    const began = process.cpuUsage();
    for (let uid = 0; uid < 1_000; uid += 1)
      expect(await subordinateRanges({ name: `u${uid}`, uid }, file)).toHaveLength(1);
    expect(process.cpuUsage(began).user / 1e6).toBeLessThan(5);
  } finally {
    await rm(directory, { recursive: true });
  }
});
