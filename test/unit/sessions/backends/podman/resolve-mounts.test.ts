import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseProfile } from '../../../../../src/config/schema/profile/profile-parse.ts';
import {
  type ResolvedMounts,
  resolveMounts,
} from '../../../../../src/sessions/backends/podman/resolve-mounts.ts';

let directory: string;
beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'ready-mounts-')));
  for (const name of ['home', 'data', 'storage/users/1042', 'run/1042'])
    mkdirSync(join(directory, name), { recursive: true });
});
afterEach(() => rmSync(directory, { recursive: true }));

function mounted(...mounts: object[]): ResolvedMounts {
  const user = {
    ...{ name: 'eve', uid: 1042, gid: 100, groups: [100], shell: '/bin/sh' },
    home: join(directory, 'home'),
  };
  const profile = parseProfile({ image: 'a', agent: false, mounts }, 'p', 'p.yml');
  const host = {
    user,
    storage: join(directory, 'storage'),
    runtimeDir: join(directory, 'run/1042'),
  };
  return resolveMounts(profile, host, join(directory, 'no-files'));
}
const forbidden = expect.objectContaining({ code: 'session-mount-forbidden' }) as Error;

describe('the mounts of a session', () => {
  it('are those of the profile, filled in; what may be missing is left out', () => {
    const gone = join(directory, 'gone');
    expect(
      mounted(
        { source: '$HOME', target: '/h/$USER' },
        { source: join(directory, 'data'), read_only: true },
        { source: gone, missing: 'skip' },
      ),
    ).toEqual({
      mounts: [
        { source: join(directory, 'home'), target: '/h/eve', readOnly: false },
        { source: join(directory, 'data'), target: join(directory, 'data'), readOnly: true },
      ],
      skipped: [gone],
      checked: new Map([
        ['/h/eve', join(directory, 'home')],
        [join(directory, 'data'), join(directory, 'data')],
      ]),
    });
    expect(() => mounted({ source: gone })).toThrow(
      expect.objectContaining({ code: 'session-mount-missing' }) as Error,
    );
  });

  it.each(['storage', 'storage/users/$UID', 'run/$UID', 'run', ''])(
    'never show what steers podman on the host: %j',
    (name) => {
      expect(() => mounted({ source: join(directory, name) })).toThrow(forbidden);
    },
  );

  it.each(['storage/users/1042', 'run/1042', '', '..'])(
    'nor by a symlink that the user made, to %j',
    (name) => {
      symlinkSync(join(directory, name), join(directory, 'home/link'));
      expect(() => mounted({ source: '$HOME/link' })).toThrow(forbidden);
    },
  );

  it('nor by a symlink to what the whole host keeps to itself', () => {
    mkdirSync(join(directory, 'home/etc'));
    symlinkSync('/etc', join(directory, 'home/link'));
    expect(() => mounted({ source: '$HOME/link' })).toThrow(forbidden);
    expect(mounted({ source: '$HOME/etc' }).mounts).toHaveLength(1);
  });

  it('nor by another name of the storage', () => {
    symlinkSync(join(directory, 'storage'), join(directory, 'data/alias'));
    expect(() => mounted({ source: join(directory, 'data/alias/users/1042') })).toThrow(forbidden);
  });
});
