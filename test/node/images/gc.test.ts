import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { ImageSite } from './image-site.ts';
import { Registry } from './registry.ts';

let registry: Registry;
let kept: { tag: string; digest: string };
let other: { tag: string; digest: string };
let site: ImageSite;

beforeAll(async () => {
  registry = await Registry.start();
  kept = await registry.push('site/kept:1', 1);
  other = await registry.push('site/other:1', 1);
});
afterAll(() => registry.stop());

beforeEach(async () => {
  site = await ImageSite.make();
  await site.profiles({ base: kept.digest, old: other.tag });
  const auth = ['--auth-file', await registry.authFile()];
  const { stderr } = await site.berth(['pull', ...auth], { SSL_CERT_FILE: registry.ca });
  expect(stderr).toBe('');
  return () => site.remove();
});

/** What a run would do, by the first name of each image. */
const verdicts = async (...args: string[]): Promise<Record<string, string>> => {
  const { stdout, stderr } = await site.berth(['gc', '--dry-run', ...args]);
  expect(stderr).toBe('dry run: nothing was changed');
  const lines = stdout.matchAll(/^[0-9a-f]{12} {2}([^,]+?)(?:, .*)?: (kept.*|would be .*)$/gm);
  return Object.fromEntries(
    Array.from(lines, ([, name = '', fate = '']) => [name, fate.replace(/ another .*/, '')]),
  );
};
const collect = async (...args: string[]): Promise<void> => {
  expect(await site.berth(['gc', ...args])).toMatchObject({ exitCode: 0, stderr: '' });
};
const named = 'kept: a profile names it';
const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);
const layers = async (): Promise<number> =>
  (await readdir(join(site.store, 'overlay'))).filter((name) => name.length === 64).length;

describe('berth images gc', () => {
  it('keeps what a profile names, the rest for the grace time, and then removes it', async () => {
    await site.profiles({ base: kept.digest });
    // Both have the busybox layer.
    expect(await layers()).toBe(3);
    await collect('--grace', '1h');
    // The grace time starts at the first run, which was less than an hour ago.
    expect(await verdicts('--grace', '1h')).toEqual({
      [kept.digest]: named,
      [other.tag]: 'kept for',
    });
    await collect('--grace', '1h');
    const notes = join(site.store, '.unnamed.json');
    const text = await readFile(notes, 'utf8');
    await writeFile(
      notes,
      text.replace(/\d+(?=}\n)/, (at) => String(Number(at) - 3601)),
    );
    expect(await verdicts('--grace', '1h')).toMatchObject({ [other.tag]: 'would be removed' });
    expect(await layers()).toBe(3);
    const { stdout } = await site.berth(['gc', '--grace', '1h']);
    expect(stdout).toMatch(new RegExp(`^[0-9a-f]{12}  ${other.tag}: removed$`));
    expect(await layers()).toBe(2);
    expect(await verdicts()).toEqual({ [kept.digest]: named });
    expect((await site.berth(['check'])).exitCode).toBe(0);
    const left = await readFile(join(site.store, 'overlay-layers/layers.json'), 'utf8');
    expect(JSON.parse(left)).toHaveLength(2);
  });

  it('restarts the grace time of an image that a profile named meanwhile', async () => {
    await site.profiles({ base: kept.digest });
    await collect('--grace', '1h');
    await site.profiles({ base: kept.digest, old: other.tag });
    await collect('--grace', '1h');
    expect(await verdicts('--grace', '1h')).toMatchObject({ [other.tag]: named });
    expect(await readFile(join(site.store, '.unnamed.json'), 'utf8')).toBe('{}\n');
  });

  it('removes nothing while a profile is invalid', async () => {
    await site.profiles({ base: kept.digest, old: { image: other.tag, lifetme: 'user' } });
    const { exitCode, stderr } = await site.berth(['gc', '--grace', '0s']);
    expect([exitCode, stderr]).toEqual([78, expect.stringContaining('[gc-profile-invalid]')]);
    expect(await layers()).toBe(3);
  });

  it(
    "keeps what a user's container stands on, until that is gone",
    { timeout: 120_000 },
    async () => {
      const host = await SshHost.start({
        mode: 'plain',
        images: site.store,
        users: { 'img-ada': [] },
      });
      try {
        const { uid, gid } = host.account('img-ada');
        const own = join(site.storage, 'users', String(uid));
        await execa('install', ['-d', '-m', '0700', '-o', String(uid), '-g', String(gid), own]);
        const podman = (...words: string[]) =>
          host.asUser('img-ada', [
            ...['podman', '--root', join(own, 'storage'), '--runtime', 'crun'],
            ...[
              '--cgroup-manager',
              'cgroupfs',
              '--log-level',
              'error',
              '--storage-driver',
              'overlay',
            ],
            ...['--storage-opt', 'overlay.mount_program=/usr/bin/fuse-overlayfs'],
            ...['--storage-opt', 'additionalimagestore=/var/lib/berth-ssh/images'],
            ...words,
          ]);
        const run = ['run', '--detach', '--name', 'c', '--userns', 'keep-id', '--network', 'host'];
        const started = await podman(...run, '--pull', 'never', other.tag, 'sleep', '600');
        expect(started.stderr).toBe('');
        await site.profiles({ base: kept.digest });
        await collect('--grace', '0s');
        expect(await verdicts('--grace', '0s')).toMatchObject({
          [other.tag]: 'kept: a container of a user is based on it',
        });
        expect((await podman('exec', 'c', 'ls', '/bytes')).stdout.toString()).toBe('/bytes\n');
        await podman('rm', '--force', '--time', '0', 'c');
        expect(await verdicts('--grace', '0s')).toMatchObject({ [other.tag]: 'would be removed' });
      } finally {
        await host.stop();
      }
    },
  );

  it("is not misled by files in users' own stores", async () => {
    await site.profiles({ base: kept.digest });
    const lists = ['overlay-containers/containers.json', 'overlay-layers/layers.json'];
    const store = join(site.storage, 'users/4242/storage');
    for (const list of lists) await execa('mkdir', ['-p', join(store, list, '..')]);
    await execa('mkfifo', [join(store, lists[0] ?? '')]);
    await execa('ln', ['-s', '/etc/shadow', join(store, lists[1] ?? '')]);
    const { exitCode, stdout } = await site.berth(['gc', '--grace', '0s']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`${other.tag}: removed`);
    expect(stdout.match(/^warning: .*was not written by podman/gm)).toHaveLength(2);
    expect(stdout).not.toContain('root:');
  });
});

describe('berth images check', () => {
  it('suggests an image for a misspelt name', async () => {
    await site.profiles({ base: other.tag.replace(/.(?=:[^/]*$)/, '') });
    const { stdout } = await site.berth(['check', '-o', 'json']);
    const { checks } = berthDocument(stdout) as { checks: { next?: string }[] };
    expect(checks[0]?.next).toBe(
      `If you meant ${other.tag}, correct the profile. Run \`berth images pull\`; without a registry: \`berth images pull --from-archive FILE\`.`,
    );
  });

  it('reports images that are missing, have another digest, lost files, or are not readable by users', async () => {
    const wrong = `${kept.digest.slice(0, -4)}0000`;
    await site.profiles({
      absent: 'registry.example/none:1',
      base: kept.digest,
      other: other.tag,
      wrong,
    });
    const messages = async (): Promise<Record<string, string>> => {
      const { exitCode, stdout } = await site.berth(['check', '-o', 'json']);
      expect(exitCode).toBe(1);
      const { checks } = berthDocument(stdout) as {
        checks: { profiles: string[]; status: string; message: string; next?: string }[];
      };
      for (const { status, next } of checks) expect(next !== undefined).toBe(status === 'failed');
      return Object.fromEntries(
        checks.map(({ profiles, message }) => [profiles[0] ?? '', message.replace(/^.*?\): /, '')]),
      );
    };
    expect(await messages()).toEqual({
      absent: 'not in the store',
      base: matching(/^[0-9a-f]{12}, 2 layers, sha256:/),
      other: matching(/^[0-9a-f]{12}, 2 layers, not pinned by a digest: sha256:/),
      wrong: 'not in the store',
    });
    await execa('chmod', ['o-x', site.storage]);
    expect(await messages()).toMatchObject({ base: `users cannot enter ${site.storage}` });
    await execa('chmod', ['o+x', site.storage]);
    const found = await execa('find', [site.store, '-name', 'busybox', '-path', '*/diff/*']);
    await writeFile(found.stdout, 'cut');
    expect(await messages()).toMatchObject({
      base: matching(/^layer [0-9a-f]{12}: .*bin\/busybox: missing or of another size/),
    });
  });

  it('reports lists that podman did not write', async () => {
    await writeFile(join(site.store, 'overlay-images/images.json'), '[{"id":');
    const { exitCode, stdout } = await site.berth(['check']);
    expect([exitCode, stdout]).toEqual([1, expect.stringContaining('images.json is not JSON')]);
  });
});
