import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { ImageSite } from './image-site.ts';
import { password, Registry } from './registry.ts';

let registry: Registry;
let small: { tag: string; digest: string };
let large: { tag: string; digest: string };
let site: ImageSite;
let env: Record<string, string>;

beforeAll(async () => {
  registry = await Registry.start();
  env = { SSL_CERT_FILE: registry.ca };
  small = await registry.push('site/small:1', 1);
  large = await registry.push('site/large:1', 200);
});
afterAll(() => registry.stop());

beforeEach(async () => {
  site = await ImageSite.make();
  return () => site.remove();
});

const pull = async (...args: string[]) =>
  site.berth(['pull', ...args, '--auth-file', await registry.authFile()], env);

const checks = async (): Promise<readonly { image: string; status: string; message: string }[]> => {
  const { stdout } = await site.berth(['check', '-o', 'json']);
  return (berthDocument(stdout) as { checks: never }).checks;
};

/** What a killed or failed pull must not leave: unknown layers, and the working copy. */
async function leftovers(): Promise<string[]> {
  const layers = await readFile(join(site.store, 'overlay-layers/layers.json'), 'utf8');
  const directories = await readdir(join(site.store, 'overlay'));
  return [
    ...directories.filter((name) => /^[0-9a-f]{64}$/.test(name) && !layers.includes(name)),
    ...(await readdir(site.store)).filter((name) => name === '.work' || name.startsWith('.lock')),
  ];
}

describe('berth images pull', () => {
  it('pulls each image of the profiles and their fallbacks, and prints nothing on a pipe', async () => {
    const failure = { action: 'fallback', image: small.digest };
    await site.profiles({ base: { image: large.tag, on_failure: failure } });
    const { exitCode, stdout, stderr } = await pull();
    expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    const found = await checks();
    expect(found.map(({ image, status }) => [image, status])).toEqual([
      [large.tag, 'ok'],
      [small.digest, 'ok'],
    ]);
  });

  it('says with --dry-run what it would do, asks no registry and writes nothing', async () => {
    await site.profiles({ base: large.tag, pinned: small.digest });
    const dryRun = async (...args: string[]) => {
      const { stdout, stderr, exitCode } = await pull('--dry-run', ...args);
      expect({ stderr, exitCode }).toEqual({
        stderr: 'dry run: nothing was changed',
        exitCode: 0,
      });
      return stdout.trim().split('\n');
    };
    await registry.down();
    try {
      expect(await dryRun()).toEqual([
        `${large.tag}: would be pulled`,
        `${small.digest}: would be pulled`,
      ]);
      expect(existsSync(site.storage)).toBe(false);
    } finally {
      await registry.up();
    }
    await pull();
    const tree = async (): Promise<string> =>
      (await execa('find', [site.storage, '-printf', '%p %s %T@ %m\n'])).stdout;
    const before = await tree();
    expect(await dryRun()).toEqual([
      expect.stringContaining('in the store; a pull would ask the registry for a newer one ('),
      expect.stringMatching(/: in the store and named by digest: nothing to do \([0-9a-f]{12}\)$/),
    ]);
    expect((await site.berth(['list'])).stdout).toMatch(/ complete +base\n.* complete +pinned$/);
    await site.profiles({ other: 'registry.example/none:1' });
    expect((await site.berth(['list'])).stdout).toMatch(
      /^IMAGE .*\nregistry\.example\/none:1 +- +- +missing +other\n\S+ +[0-9a-f]{12} +[\d.]+[KMG] +complete +-\n/,
    );
    expect(await tree()).toBe(before);
  });

  it('prints what it waits for on a terminal', async () => {
    await site.profiles({ base: large.tag });
    const words = [join(installDirectory, 'berth'), ...site.words(['pull'])];
    words.push('--auth-file', await registry.authFile());
    const { stdout } = await execa('script', ['-qec', words.join(' '), '/dev/null'], {
      env: { ...env, TERM: 'xterm' },
      stdin: 'ignore',
    });
    expect(stdout).toContain(`pulling ${large.tag} (1 s)`);
    expect(stdout).toMatch(/: pulled \([0-9a-f]{12}\)/);
  });

  it('asks no registry for a pinned image in the store, and repairs an incomplete one', async () => {
    await site.profiles({ base: small.digest });
    await pull();
    await registry.down();
    try {
      expect(await pull()).toMatchObject({ exitCode: 0, stderr: '' });
    } finally {
      await registry.up();
    }
    const [layer = ''] = (await readdir(join(site.store, 'overlay'))).filter((name) =>
      existsSync(join(site.store, 'overlay', name, 'diff/bytes')),
    );
    await execa('rm', [join(site.store, 'overlay', layer, 'diff/bytes')]);
    expect((await checks())[0]?.message).toContain('bytes: missing or of another size');
    expect((await pull()).exitCode).toBe(0);
    expect((await checks())[0]?.status).toBe('ok');
  });

  it('has separate codes for a wrong password, a registry that is down and an unknown digest', async () => {
    const unknown = `${small.digest.slice(0, -4)}0000`;
    await site.profiles({ base: small.tag });
    const denied = await site.berth(['pull', '--auth-file', await registry.authFile('wrong')], env);
    expect([denied.exitCode, denied.stderr]).toEqual([
      77,
      expect.stringContaining('[registry-denied]'),
    ]);
    const missing = await pull(unknown);
    expect([missing.exitCode, missing.stderr]).toEqual([
      69,
      expect.stringContaining('[image-not-in-registry]'),
    ]);
    await pull();
    await registry.down();
    try {
      const down = await pull();
      expect([down.exitCode, down.stderr]).toEqual([
        75,
        expect.stringContaining('[registry-unreachable]'),
      ]);
    } finally {
      await registry.up();
    }
    expect((await checks())[0]?.status).toBe('ok');
    expect(await leftovers()).toEqual([]);
  });

  it('refuses an image whose digest is not the one that the profile names', async () => {
    const victim = await registry.push('site/victim:1', 1);
    const blob = (reference: string): string => {
      const hex = reference.replace(/^.*sha256:/, '');
      return `${registry.directory}/data/docker/registry/v2/blobs/sha256/${hex.slice(0, 2)}/${hex}/data`;
    };
    // A registry that returns another valid manifest for this digest.
    await writeFile(blob(victim.digest), await readFile(blob(small.digest)));
    await registry.down();
    await registry.up();
    const { exitCode, stderr } = await pull(victim.digest);
    expect([exitCode, stderr]).toEqual([69, expect.stringContaining('[image-digest-wrong]')]);
    await site.profiles({ base: victim.digest });
    expect((await checks())[0]?.message).toContain('not in the store');
  });

  it('never has a password on a command line', async () => {
    await site.profiles({ base: large.tag });
    const done = pull();
    const seen: string[] = [];
    let ended = false;
    void done.finally(() => (ended = true));
    await waitFor({ what: 'the pull to end', timeoutMs: 60_000, everyMs: 5 }, async () => {
      const { stdout } = await execa('ps', ['-eo', 'args']);
      seen.push(...stdout.split('\n').filter((line) => line.includes('auth-')));
      return ended ? true : undefined;
    });
    expect((await done).exitCode).toBe(0);
    expect(seen.some((line) => line.includes('podman'))).toBe(true);
    expect(seen.join('\n')).not.toContain(password);
    expect(seen.join('\n')).not.toContain(Buffer.from(`puller:${password}`).toString('base64'));
  });

  it('leaves the store unchanged when the disk is full', async () => {
    await mkdir(site.storage);
    await execa('mount', ['-t', 'tmpfs', '-o', 'size=48m,mode=0755', 'tmpfs', site.storage]);
    try {
      await site.profiles({ base: small.tag });
      expect((await pull()).exitCode).toBe(0);
      const { exitCode, stderr } = await pull(large.tag);
      expect([exitCode, stderr]).toEqual([74, expect.stringContaining('[image-store-full]')]);
      expect((await checks())[0]?.status).toBe('ok');
      expect(await leftovers()).toEqual([]);
      const { stdout } = await execa('df', ['--output=used', '-k', site.storage]);
      expect(Number(stdout.split('\n')[1])).toBeLessThan(12_000);
    } finally {
      await execa('umount', [site.storage]);
    }
  });

  it('survives kill -9 in the middle: podman ends with it, and the next pull succeeds', async () => {
    await site.profiles({ base: small.tag });
    await pull();
    const words = [...site.words(['pull', large.tag]), '--auth-file', await registry.authFile()];
    const child = spawn(join(installDirectory, 'berth'), words, {
      env: { ...process.env, ...env },
      stdio: 'ignore',
    });
    await waitFor({ what: 'half a layer', timeoutMs: 60_000, everyMs: 5 }, async () => {
      const { stdout } = await execa('du', ['-sm', join(site.store, 'overlay')], { reject: false });
      return Number.parseInt(stdout) > 20 ? true : undefined;
    });
    // A stopped process cannot end by itself.
    const podman = Number(
      await execa('pgrep', ['--parent', String(child.pid)]).then((done) => done.stdout),
    );
    process.kill(podman, 'SIGSTOP');
    child.kill('SIGKILL');
    await once(child, 'exit');
    try {
      await waitFor({ what: 'podman to end', timeoutMs: 60_000 }, async () => {
        const { stdout } = await execa('ps', ['-eo', 'args']);
        return stdout.includes(join(site.store, '.work')) ? undefined : true;
      });
    } catch (error) {
      process.kill(podman, 'SIGKILL');
      throw error;
    }
    expect((await checks())[0]?.status).toBe('ok');
    expect((await pull(large.tag)).exitCode).toBe(0);
    expect(await leftovers()).toEqual([]);
  });

  it('lets two pulls at once both succeed', async () => {
    await site.profiles({ base: large.tag, other: small.tag });
    const [one, other] = await Promise.all([pull(), pull()]);
    expect([one, other].map(({ exitCode, stderr }) => ({ exitCode, stderr }))).toEqual([
      { exitCode: 0, stderr: '' },
      { exitCode: 0, stderr: '' },
    ]);
    expect((await checks()).map(({ status }) => status)).toEqual(['ok', 'ok']);
  });
});
