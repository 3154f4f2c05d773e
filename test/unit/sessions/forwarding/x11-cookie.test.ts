import { spawnSync } from 'node:child_process';
import { link, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { x11Cookie } from '../../../../src/sessions/forwarding/forwarder.ts';

const counted = (part: string | Buffer): Buffer => {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(part.length);
  return Buffer.concat([length, Buffer.from(part)]);
};
const fields = Buffer.concat(['MIT-MAGIC-COOKIE-1', Buffer.alloc(16, 7)].map(counted));
const entry = Buffer.concat([Buffer.from([1, 0]), counted('login1'), counted('10'), fields]);

const uid = process.getuid?.() ?? 0;

describe('the Xauthority file in a home that the pod can write', () => {
  let directory: string;
  let file: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'berth-x11-'));
    file = join(directory, 'Xauthority');
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('has the cookie', async () => {
    await writeFile(file, entry);
    expect(await x11Cookie(file, 10, uid)).toBe(fields.toString('base64'));
    expect(await x11Cookie(file, 11, uid)).toBeUndefined();
  });

  it('has none if it is missing', async () => {
    expect(await x11Cookie(file, 10, uid)).toBeUndefined();
  });

  it('is refused if another user owns it', async () => {
    await writeFile(file, entry);
    await expect(x11Cookie(file, 10, uid + 1)).rejects.toThrow('its owner is');
  });

  it.each<[string, () => unknown]>([
    ['a FIFO', () => spawnSync('mkfifo', [file])],
    ['a link to a device', () => symlink('/dev/zero', file)],
    [
      'a link to a file',
      async () => {
        await writeFile(join(directory, 'other'), entry);
        await symlink(join(directory, 'other'), file);
      },
    ],
    ['a directory', () => spawnSync('mkdir', [file])],
    [
      'larger than memory',
      async () => {
        await writeFile(join(directory, 'large'), entry);
        await truncate(join(directory, 'large'), 1_900_000_000);
        await link(join(directory, 'large'), file);
      },
    ],
  ])('is refused at once if it is %s', async (_what, make) => {
    await make();
    await expect(x11Cookie(file, 10, uid)).rejects.toThrow(/cannot be used: /);
  });
});
