import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { ensureCommand, ensurePackages } from '../site/debian-packages.ts';
import { cacheDirectory } from '../site/directories.ts';
import { withLock } from '../site/lock.ts';
import { say, step } from '../site/progress.ts';

/** The name in etc/kubernetes/ssh-balancer: it stands in for the official image, which no test downloads. */
const image = 'docker.io/library/haproxy:2.6';

const context = new URL('../../../etc/container/balancer', import.meta.url).pathname;

/**
 * Builds the image of etc/container/balancer, unless it is in the cache: a minute. Its base is a Debian of mmdebstrap,
 * since no test downloads images; haproxy comes from Debian's archive.
 *
 * @returns its name, and the path of a docker-archive
 */
export async function balancerImage(): Promise<{ image: string; archive: string }> {
  const recipe = await readFile(join(context, 'Containerfile'));
  const hash = createHash('sha256').update(recipe).digest('hex').slice(0, 12);
  const archive = join(cacheDirectory, 'images', `balancer-${hash}.tar`);
  if (existsSync(archive)) return { image, archive };
  await ensurePackages(['podman']);
  await ensureCommand('mmdebstrap', 'mmdebstrap');
  const waiting = (): void => say('… another process is building the image of the balancer');
  await withLock(`${archive}.lock`, waiting, async () => {
    if (existsSync(archive)) return;
    await step('building the image of the balancer (60 s)', () => build(archive));
  });
  return { image, archive };
}

async function build(archive: string): Promise<void> {
  await mkdir(join(cacheDirectory, 'images'), { recursive: true });
  const directory = await mkdtemp(join(tmpdir(), 'berth-balancer-image-'));
  try {
    const storage = join(directory, 'storage.conf');
    const places = `graphroot = "${directory}/graph"\nrunroot = "${directory}/run"`;
    await writeFile(storage, `[storage]\ndriver = "vfs"\n${places}\n`);
    const podman = (...args: string[]) =>
      execa('podman', args, { env: { CONTAINERS_STORAGE_CONF: storage } });
    const debian = join(directory, 'debian.tar');
    await execa('mmdebstrap', ['--variant=minbase', 'bookworm', debian]);
    await execa('tar', ['--delete', `--file=${debian}`, './dev']);
    const base = 'localhost/debian:bookworm-slim';
    await podman('import', '--quiet', debian, base);
    await podman(
      ...['build', '--quiet', '--isolation=chroot', '--pull=never', '--layers=false'],
      ...['--network=host', '--build-arg', `DEBIAN=${base}`, '--tag', image, context],
    );
    const fresh = join(directory, 'image.tar');
    await podman('save', '--quiet', '--format=docker-archive', '--output', fresh, image);
    await execa('cp', [fresh, `${archive}.new`]);
    await rename(`${archive}.new`, archive);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
