import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { buildOutputs } from '../../../scripts/outputs.ts';
import type { TestNode } from '../../rig/site/kubernetes-node/node.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';

const recipe = new URL('../../../etc/container/Containerfile', import.meta.url).pathname;

/** Where the official images have Node, and so this one. */
const nodeInImage = '/usr/local/bin/node';

/**
 * The image of etc/container, built of today's sources and imported into containerd; seconds. What stands
 * for the official base, which no test downloads, is the Node of these tests with its libraries.
 *
 * @returns its name
 */
export async function berthImage(node: TestNode): Promise<string> {
  await ensurePackages(['podman']);
  const directory = await mkdtemp(join(tmpdir(), 'berth-image-'));
  try {
    const context = join(directory, 'context');
    await buildOutputs({ node: nodeInImage, out: context });
    const image = `localhost/berth:${await digest(recipe, join(context, 'berth'))}`;
    if (await node.hasImage(image)) return image;
    const podman = podmanIn(directory);
    await writeFile(join(directory, 'storage.conf'), storageConf(directory));
    const base = 'localhost/node-slim:1';
    await podman('import', '--quiet', await baseArchive(directory), base);
    await podman(
      ...['build', '--quiet', '--isolation=chroot', '--pull=never', '--layers=false'],
      ...['--build-arg', `NODE=${base}`, '--file', recipe, '--tag', image, context],
    );
    const archive = join(directory, 'image.tar');
    await podman('save', '--quiet', '--format=docker-archive', '--output', archive, image);
    await node.importImage(archive);
    return image;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** A storage of its own, without layers upon layers: nothing of the machine's is asked for or changed. */
function storageConf(directory: string): string {
  return `[storage]\ndriver = "vfs"\ngraphroot = "${directory}/graph"\nrunroot = "${directory}/run"\n`;
}

function podmanIn(directory: string): (...args: string[]) => Promise<unknown> {
  const env = { CONTAINERS_STORAGE_CONF: join(directory, 'storage.conf') };
  return (...args) => execa('podman', args, { env });
}

/** A tar of a root file system with Node, sh(1), env(1), and their libraries. */
async function baseArchive(directory: string): Promise<string> {
  const root = join(directory, 'base');
  const put = async (from: string, to: string): Promise<void> => {
    await mkdir(dirname(join(root, to)), { recursive: true });
    await copyFile(from, join(root, to));
  };
  await put(process.execPath, nodeInImage);
  for (const program of ['/bin/sh', '/usr/bin/env']) await put(program, program);
  const { stdout } = await execa('ldd', [process.execPath]);
  for (const [library] of stdout.matchAll(/\/lib\S+/g)) await put(library, library);
  const archive = `${root}.tar`;
  await execa('tar', ['--owner=0', '--group=0', '-C', root, '-cf', archive, '.']);
  return archive;
}

async function digest(...files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(await readFile(file));
  return hash.digest('hex').slice(0, 12);
}
