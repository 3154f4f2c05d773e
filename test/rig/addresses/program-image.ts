import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { execa } from 'execa';
import type { TestNode } from '../site/kubernetes-node/node.ts';

export interface ProgramImage {
  /** The name by which a manifest refers to it. */
  readonly image: string;
  /** A static binary. */
  readonly program: string;
  /** The image's entrypoint. */
  readonly path: string;
}

/** Makes an image that contains nothing but a program, as those of Go programs do. */
export async function ensureProgramImage(
  node: TestNode,
  { image, program, path }: ProgramImage,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), `berth-${basename(path)}-`));
  try {
    await node.ensureImage(image, async () => {
      const root = join(directory, 'root');
      await mkdir(dirname(join(root, path)), { recursive: true });
      await mkdir(join(root, 'tmp'), { mode: 0o1777 });
      await copyFile(program, join(root, path));
      const archive = join(directory, 'root.tar');
      await execa('tar', ['--owner=0', '--group=0', '-C', root, '-cf', archive, '.']);
      return { archive, entrypoint: [path] };
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
