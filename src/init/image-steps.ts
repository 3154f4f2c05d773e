import { existsSync } from 'node:fs';
import { findImage } from '../images/image-index.ts';
import type { ImageArchive } from '../images/image-archive.ts';
import { imageStoreDir, readIndex } from '../images/store-transaction.ts';
import { loadSshSettings } from '../settings/load-ssh-settings.ts';
import type { CommandStep } from './setup.ts';

/** Where the image comes from. */
export interface ImageSource {
  readonly image: string;
  /** Pull it now. */
  readonly pull: boolean;
  /** Load it from this archive, without a registry. */
  readonly archive?: ImageArchive | undefined;
}

const stored = ['berth', 'images', 'check'];

/**
 * The command that puts the image into the shared store, if one is wanted.
 *
 * @param settings path of ssh.yml, which need not exist
 * @throws {BerthError} those of `loadSshSettings`; `image-store-broken`
 */
export async function imageSteps(
  { image, pull, archive }: ImageSource,
  settings: string,
): Promise<CommandStep[]> {
  if (archive === undefined)
    return pull ? [{ argv: ['berth', 'images', 'pull'], unless: stored }] : [];
  const { file, names } = archive;
  // With its name in the archive, there may be other images beside it.
  const named = names.includes(image) ? [] : [image];
  const argv = ['berth', 'images', 'pull', '--from-archive', file, ...named];
  return [{ argv, ...((await isStored(image, archive, settings)) ? { unless: stored } : {}) }];
}

/** An archive may have a newer image of the same name. */
async function isStored(image: string, { ids }: ImageArchive, settings: string): Promise<boolean> {
  if (!existsSync(settings)) return false;
  const site = await loadSshSettings({ configFile: settings });
  const present = findImage(readIndex(imageStoreDir(site)), image);
  return present !== undefined && ids.includes(present.id);
}
