import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import { ImageSite } from './image-site.ts';
import { Registry } from './registry.ts';

let registry: Registry;
let small: { tag: string; digest: string };
let large: { tag: string; digest: string };
let site: ImageSite;

beforeAll(async () => {
  registry = await Registry.start();
  small = await registry.push('site/small:1', 1);
  large = await registry.push('site/large:1', 2);
});
afterAll(() => registry.stop());

beforeEach(async () => {
  site = await ImageSite.make();
  return () => site.remove();
});

const checks = async (): Promise<readonly { image: string; status: string; message: string }[]> => {
  const { stdout } = await site.berth(['check', '-o', 'json']);
  return (berthDocument(stdout) as { checks: never }).checks;
};

describe('berth images pull --from-archive', () => {
  const archive = async (format: string): Promise<string> => {
    const file = join(registry.directory, `${format}.tar`);
    await execa('rm', ['-f', file]);
    await registry.podman(['save', '--quiet', '--format', format, '--output', file, small.tag]);
    return file;
  };

  it.each(['docker-archive', 'oci-archive'])('loads an image from a %s', async (format) => {
    await site.profiles({ base: small.tag });
    const { exitCode, stderr } = await site.berth([
      ...['pull', '--from-archive', await archive(format)],
    ]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect((await checks())[0]?.status).toBe('ok');
  });

  it('gives it the requested name, also with a digest if that matches', async () => {
    const file = await archive('oci-archive');
    expect((await site.berth(['pull', '--from-archive', file, 'local.example/a:1'])).exitCode).toBe(
      0,
    );
    const { stdout } = await site.berth(['gc', '--dry-run', '-o', 'json']);
    expect(stdout).toContain('local.example/a:1');
    const index = await readFile(join(site.store, 'overlay-images/images.json'), 'utf8');
    const [{ digest = '' } = {}] = JSON.parse(index) as { digest?: string }[];
    const pinned = `local.example/b@${digest}`;
    expect((await site.berth(['pull', '--from-archive', file, pinned])).exitCode).toBe(0);
    await site.profiles({ base: pinned });
    expect((await checks())[0]?.status).toBe('ok');
  });

  it('changes nothing if the digest differs, no profile names it, or it is not an archive', async () => {
    await site.profiles({ base: large.tag });
    const file = await archive('docker-archive');
    const codes = [];
    for (const args of [[file, small.digest], [file], [site.config]]) {
      const { exitCode, stderr } = await site.berth(['pull', '--from-archive', ...args]);
      codes.push([exitCode, /\[([a-z-]+)\]/.exec(stderr)?.[1]]);
    }
    expect(codes).toEqual([
      [69, 'image-digest-wrong'],
      [78, 'archive-not-in-profiles'],
      [69, 'archive-unreadable'],
    ]);
    expect(existsSync(join(site.store, 'overlay-images/images.json'))).toBe(false);
  });
});
