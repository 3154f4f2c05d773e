import { existsSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import { installDirectory } from '../../rig/site/portal.ts';
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
    const { stdout } = await site.berth(['gc', '--dry-run']);
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

describe('the names in an archive', () => {
  const base = 'registry.example/site/base:1';
  const tool = 'registry.example/site/tool:1';

  /** An archive of an image under these names. */
  const saved = async (image: string, format: string, ...names: string[]): Promise<string> => {
    const file = join(await mkdtemp(join(registry.directory, 'saved-')), 'a.tar');
    for (const name of names) await registry.podman(['tag', image, name]);
    await registry.podman(['save', '--quiet', '--format', format, '-o', file, ...names]);
    return file;
  };

  /** Changes the annotations of an OCI archive. */
  const annotated = async (file: string, annotations: object): Promise<string> => {
    const directory = `${file}.d`;
    await execa('mkdir', [directory]);
    await execa('tar', ['-xf', file, '-C', directory]);
    const index = JSON.parse(await readFile(join(directory, 'index.json'), 'utf8')) as {
      manifests: { annotations: object }[];
    };
    for (const one of index.manifests) one.annotations = annotations;
    await writeFile(join(directory, 'index.json'), JSON.stringify(index));
    await execa('tar', ['-cf', file, '-C', directory, '.']);
    return file;
  };

  const load = async (...args: string[]) => {
    const { exitCode, stderr } = await site.berth(['pull', '--from-archive', ...args]);
    return { exitCode, stderr, code: /\[([a-z-]+)\]/.exec(stderr)?.[1] };
  };

  interface Stored {
    id: string;
    digest: string;
    names?: string[];
  }
  const stored = async (): Promise<Stored[]> =>
    JSON.parse(await readFile(join(site.store, 'overlay-images/images.json'), 'utf8')) as Stored[];
  const named = async (name: string): Promise<Stored | undefined> =>
    (await stored()).find(({ names }) => names?.includes(name));
  const allNames = async (): Promise<string[]> =>
    (await stored()).flatMap(({ names = [] }) => names).sort();

  beforeEach(async () => {
    await site.profiles({ base });
    expect(await load(await saved(small.tag, 'oci-archive', base))).toMatchObject({ exitCode: 0 });
  });

  it.each<[string, () => Promise<string>]>([
    ['a docker archive', () => saved(large.tag, 'docker-archive', base)],
    ['a docker archive with several names', () => saved(large.tag, 'docker-archive', base, 'x:1')],
    ['an OCI archive', () => saved(large.tag, 'oci-archive', base)],
    [
      'an OCI archive of containerd, with a short name',
      async () =>
        annotated(await saved(large.tag, 'oci-archive', base), {
          'io.containerd.image.name': base,
          'org.opencontainers.image.ref.name': base,
        }),
    ],
  ])('move nothing when another name is given: %s', async (_, archive) => {
    const before = await named(base);
    const file = await archive();
    expect(await load(file, tool)).toMatchObject({ exitCode: 0 });
    expect(await allNames()).toEqual([base, tool]);
    expect((await named(base))?.id).toBe(before?.id);
    expect((await named(tool))?.id).not.toBe(before?.id);
  });

  it('are refused with the digest of another image', async () => {
    const before = await named(base);
    const name = `registry.example/site/base@${before?.digest}`;
    const file = await annotated(await saved(large.tag, 'oci-archive', base), {
      'org.opencontainers.image.ref.name': name,
    });
    expect(await load(file, tool)).toMatchObject({ exitCode: 69, code: 'image-digest-wrong' });
    expect(await allNames()).toEqual([base]);
  });

  it('are confirmed when they would move, and without a terminal only by --yes', async () => {
    const before = await named(base);
    const file = await saved(large.tag, 'oci-archive', base);
    const refused = await load(file);
    expect(refused).toMatchObject({ exitCode: 64, code: 'archive-moves-names' });
    expect(refused.stderr).toMatch(
      new RegExp(
        `would make tags point to other images: ${base} from ${before?.digest} to sha256:[0-9a-f]{64}; the store is`,
      ),
    );
    expect(await named(base)).toEqual(before);

    const command = [
      join(installDirectory, 'berth'),
      ...site.words(['pull', '--from-archive', file]),
    ];
    const asked = async (answer: string) => {
      const script = execa('script', ['-qec', command.join(' '), '/dev/null'], { reject: false });
      let shown = '';
      script.stdout.on('data', (text: Buffer) => {
        shown += text.toString();
        if (shown.includes('Replace them?')) script.stdin.end(`${answer}\n`);
      });
      return await script;
    };
    expect((await asked('n')).stdout).toContain(`${base} from ${before?.digest} to sha256:`);
    expect(await named(base)).toEqual(before);
    await asked('y');
    const after = await named(base);
    expect(after?.id).not.toBe(before?.id);

    const back = await saved(small.tag, 'oci-archive', base);
    expect(await load(back, '--yes')).toMatchObject({ exitCode: 0 });
    expect((await named(base))?.id).toBe(before?.id);
  });

  it('do not take the place of an image that a profile names by digest', async () => {
    const before = await named(base);
    const pinned = `registry.example/site/base@${before?.digest}`;
    await site.profiles({ base: pinned });
    const file = await saved(large.tag, 'oci-archive', base);
    for (const args of [[file], [file, '--yes'], [file, base], [file, pinned]]) {
      const { code, stderr } = await load(...args);
      expect(code, stderr).toBe('image-digest-wrong');
      expect(stderr).toMatch(new RegExp(`sha256:[0-9a-f]{64}, and not ${before?.digest}`));
    }
    // Another profile has it by its tag: the pinned image stays, too.
    await site.profiles({ base: pinned, newer: base });
    expect(await load(file, base)).toMatchObject({ exitCode: 0 });
    expect((await checks()).map(({ status }) => status)).toEqual(['ok', 'ok']);
  });

  it('do not take the place of another registry behind a short name', async () => {
    const before = await named(base);
    await site.profiles({ base: 'site/base:1' });
    await load(await saved(large.tag, 'oci-archive', 'evil.example/site/base:1'), tool);
    expect(await allNames()).toEqual([base, tool]);
    expect((await named(base))?.id).toBe(before?.id);
  });

  it('stay with a pinned image when the registry has another one under the tag', async () => {
    const old = await registry.push('site/moving:1', 1);
    const env = { SSL_CERT_FILE: registry.ca };
    const auth = ['--auth-file', await registry.authFile()];
    await site.berth(['pull', old.tag, ...auth], env);
    await registry.push('site/moving:1', 1);
    await site.profiles({ old: old.digest, moving: old.tag });
    expect((await site.berth(['pull', old.tag, ...auth], env)).exitCode).toBe(0);
    expect((await checks()).map(({ status }) => status)).toEqual(['ok', 'ok']);
  });
});
