import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { mkdir, rename, rm } from 'node:fs/promises';
import { execa } from 'execa';
import { pythonEnvironment } from '../python-environment.ts';
import { publicDirectory } from '../site/directories.ts';

/** The hub's package of this checkout. */
export const hubPackage = new URL('../../../etc/jupyterhub', import.meta.url).pathname;

/**
 * JupyterHub, its spawners, JupyterLab and Dask, in a directory that every account can read, as on a file system with a
 * site's software. Hubs run from it, and servers have it mounted.
 */
export async function hubEnvironment(): Promise<string> {
  const requirements = new URL('requirements.txt', import.meta.url).pathname;
  const installed = await pythonEnvironment('jupyterhub', requirements);
  const directory = join(publicDirectory, basename(installed));
  if (existsSync(directory)) return directory;
  await mkdir(publicDirectory, { recursive: true });
  const unfinished = `${directory}.${process.pid}`;
  // Links, where both are on one file system.
  const copy = (how: string) => execa('cp', [how, installed, unfinished], { reject: false });
  if ((await copy('-al')).exitCode !== 0) {
    await rm(unfinished, { recursive: true, force: true });
    await execa('cp', ['-a', installed, unfinished]);
  }
  await rename(unfinished, directory).catch(async (error: unknown) => {
    await rm(unfinished, { recursive: true });
    // Another process was quicker.
    if (!existsSync(directory)) throw error;
  });
  return directory;
}
