import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';

const { XDG_CACHE_HOME: chosenCacheHome = '' } = process.env;

/** What is built or downloaded once and outlives every site. */
export const cacheFolder = join(
  chosenCacheHome === '' ? join(homedir(), '.cache') : chosenCacheHome,
  'berth',
);

const isRoot = process.getuid?.() === 0;

/**
 * The running site: `site.json`, keys, logs, data. Only its owner can read it. Root's site is the
 * machine's, whatever HOME is: accounts and public files are there once. The cache holds nothing that
 * runs, so that machines can share it.
 */
export const siteFolder = isRoot
  ? `/var/lib/berth-test-state${suffix()}`
  : join(cacheFolder, 'site');

/**
 * What other accounts must reach: the CA certificate, kubectl, the homes of test accounts. Root's own
 * home is usually closed to them, so root's public folder stands outside of it. Another cache folder
 * is another site, with a public folder of its own.
 */
export const publicFolder = isRoot
  ? `/var/lib/berth-test-site${suffix()}`
  : join(siteFolder, 'public');

/**
 * The test images, in a store that every account reads; unlike the public folder it outlives a site.
 * Rootless tests of containers do not exist, so without root it only has a place.
 */
export const imagesFolder = isRoot
  ? `/var/lib/berth-test-images${suffix()}`
  : join(cacheFolder, 'images-store');

/** Homes of the accounts that tests make. */
export const homesFolder = join(publicFolder, 'home');

function suffix(): string {
  if (chosenCacheHome === '') return '';
  return `-${createHash('sha256').update(chosenCacheHome).digest('hex').slice(0, 8)}`;
}
