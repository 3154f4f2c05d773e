import { chmod, chown, lstat, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureRootDirectory, ensureUserDirectory } from '../../../src/system/safe-directories.ts';

const ann = { uid: 64_401, gid: 64_402 };

describe.runIf(process.getuid?.() === 0)('folders that root makes', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'berth-folders-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const facts = async (path: string): Promise<unknown> => {
    const { uid, gid, mode } = await lstat(path);
    return { uid, gid, mode: (mode & 0o7777).toString(8) };
  };
  const unsafe = expect.objectContaining({ code: 'directory-unsafe' }) as unknown;
  const thrown = (work: () => void): unknown => {
    try {
      work();
    } catch (error) {
      return error;
    }
    return undefined;
  };

  it("are root's down to the user's own, whatever the umask is", async () => {
    const before = process.umask(0o077);
    try {
      ensureUserDirectory(join(directory, 'a/b/c'), ann);
      ensureUserDirectory(join(directory, 'a/b/c'), ann);
    } finally {
      process.umask(before);
    }
    expect(await facts(join(directory, 'a/b'))).toEqual({ uid: 0, gid: 0, mode: '755' });
    expect(await facts(join(directory, 'a/b/c'))).toEqual({ ...ann, mode: '700' });
  });

  it('get owner and mode later if a killed run had not set them', async () => {
    await mkdir(join(directory, 'half'), { mode: 0o700 });
    ensureUserDirectory(join(directory, 'half'), ann);
    expect(await facts(join(directory, 'half'))).toEqual({ ...ann, mode: '700' });
    await chmod(join(directory, 'half'), 0o777);
    ensureUserDirectory(join(directory, 'half'), ann);
    expect(await facts(join(directory, 'half'))).toEqual({ ...ann, mode: '700' });
  });

  it("are never somebody else's, a link or a file", async () => {
    await mkdir(join(directory, 'others'));
    await chown(join(directory, 'others'), 64_411, 64_411);
    await symlink('/root', join(directory, 'link'));
    await writeFile(join(directory, 'file'), '');
    for (const name of ['others', 'link', 'file'])
      expect(thrown(() => ensureUserDirectory(join(directory, name), ann))).toEqual(unsafe);
    expect(await facts(join(directory, 'link'))).toMatchObject({ uid: 0 });
  });

  it('are not created where other users could replace them', async () => {
    await mkdir(join(directory, 'open'));
    await chmod(join(directory, 'open'), 0o777);
    await mkdir(join(directory, 'others'));
    await chown(join(directory, 'others'), 64_411, 64_411);
    for (const name of ['open', 'others'])
      expect(thrown(() => ensureRootDirectory(join(directory, name, 'x')))).toEqual(unsafe);
  });
});
