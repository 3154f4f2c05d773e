import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseProfile } from '../../../../src/config/profile/profile-parse.ts';
import { type ReadyMounts, readyMounts } from '../../../../src/ssh/podman/resolve-mounts.ts';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'ready-mounts-')));
  for (const name of ['home', 'data', 'storage/users/1042', 'run/1042'])
    mkdirSync(join(folder, name), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

function mounted(...mounts: object[]): ReadyMounts {
  const user = {
    ...{ name: 'eve', uid: 1042, gid: 100, groups: [100], shell: '/bin/sh' },
    home: join(folder, 'home'),
  };
  const profile = parseProfile({ image: 'a', agent: false, mounts }, 'p', 'p.yml');
  const host = { user, storage: join(folder, 'storage'), runFolder: join(folder, 'run/1042') };
  return readyMounts(profile, host, join(folder, 'no-files'));
}
const forbidden = expect.objectContaining({ code: 'session-mount-forbidden' }) as Error;

describe('the mounts of a session', () => {
  it('are those of the profile, filled in; what may be missing is left out', () => {
    const gone = join(folder, 'gone');
    expect(
      mounted(
        { source: '$HOME', target: '/h/$USER' },
        { source: join(folder, 'data'), read_only: true },
        { source: gone, missing: 'skip' },
      ),
    ).toEqual({
      mounts: [
        { source: join(folder, 'home'), target: '/h/eve', readOnly: false },
        { source: join(folder, 'data'), target: join(folder, 'data'), readOnly: true },
      ],
      skipped: [gone],
      checked: new Map([
        ['/h/eve', join(folder, 'home')],
        [join(folder, 'data'), join(folder, 'data')],
      ]),
    });
    expect(() => mounted({ source: gone })).toThrow(
      expect.objectContaining({ code: 'session-mount-missing' }) as Error,
    );
  });

  it.each(['storage', 'storage/users/$UID', 'run/$UID', 'run', ''])(
    'never show what steers podman on the host: %j',
    (name) => {
      expect(() => mounted({ source: join(folder, name) })).toThrow(forbidden);
    },
  );

  it.each(['storage/users/1042', 'run/1042', '', '..'])(
    'nor by a symlink that the user made, to %j',
    (name) => {
      symlinkSync(join(folder, name), join(folder, 'home/link'));
      expect(() => mounted({ source: '$HOME/link' })).toThrow(forbidden);
    },
  );

  it('nor by a symlink to what the whole host keeps to itself', () => {
    mkdirSync(join(folder, 'home/etc'));
    symlinkSync('/etc', join(folder, 'home/link'));
    expect(() => mounted({ source: '$HOME/link' })).toThrow(forbidden);
    expect(mounted({ source: '$HOME/etc' }).mounts).toHaveLength(1);
  });

  it('nor by another name of the storage', () => {
    symlinkSync(join(folder, 'storage'), join(folder, 'data/alias'));
    expect(() => mounted({ source: join(folder, 'data/alias/users/1042') })).toThrow(forbidden);
  });
});
