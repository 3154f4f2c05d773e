import { existsSync } from 'node:fs';
import { findImage } from '../images/image-index.ts';
import type { ImageArchive } from '../images/image-archive.ts';
import { imageStoreDir, readIndex } from '../images/store-transaction.ts';
import { loadSshSettings } from '../../config/load/load-ssh-settings.ts';
import type { CommandStep } from './setup.ts';

/** Where the image comes from. */
export interface ImageSource {
  readonly image: string;
  /** Pull it now. */
  readonly pull: boolean;
  /** Load it from this archive, without a registry. */
  readonly archive?: ImageArchive | undefined;
}

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
  // Those of other profiles are not of this command.
  const stored = ['berth', 'images', 'check', image];
  if (archive === undefined)
    return pull ? [{ argv: ['berth', 'images', 'pull', image], unless: stored }] : [];
  const { file, names, ids } = archive;
  const present = await storedId(image, settings);
  const isStored = present !== undefined && ids.includes(present);
  // With its name in the archive, there may be other images beside it. One of several is not replaced unasked.
  const isReplaced = present !== undefined && !isStored && ids.length === 1;
  const named = names.includes(image) && !isReplaced ? [] : [image];
  const argv = ['berth', 'images', 'pull', '--from-archive', file, ...named];
  return [{ argv, ...(isStored && { unless: stored }) }];
}

/** ID of the image of this name in the store. An archive may have a newer one. */
async function storedId(image: string, settings: string): Promise<string | undefined> {
  if (!existsSync(settings)) return undefined;
  const site = await loadSshSettings({ configFile: settings });
  return findImage(readIndex(imageStoreDir(site)), image)?.id;
}
