import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { cacheDirectory } from '../../../scripts/cache-directory.ts';

export { cacheDirectory };

const { XDG_CACHE_HOME: chosenCacheHome = '' } = process.env;

const isRoot = process.getuid?.() === 0;

/**
 * The running site: `site.json`, keys, logs and data. Only its owner can read it. Root's site does not depend
 * on HOME, since accounts and public files exist once per machine. It is not in the cache, so that machines
 * can share a cache.
 */
export const siteDirectory = isRoot
  ? `/var/lib/berth-test-state${suffix()}`
  : join(cacheDirectory, 'site');

/**
 * Files that other accounts must read: the CA certificate, kubectl, the homes of test accounts. For root
 * it is outside of root's home, which other accounts usually cannot enter. With another XDG_CACHE_HOME
 * there is another site with its own public directory.
 */
export const publicDirectory = isRoot
  ? `/var/lib/berth-test-site${suffix()}`
  : join(siteDirectory, 'public');

/**
 * The image store with the test images, which every account can read. Unlike the public directory it is
 * kept when a site is removed. Only root runs tests with containers.
 */
export const imagesDirectory = isRoot
  ? `/var/lib/berth-test-images${suffix()}`
  : join(cacheDirectory, 'images-store');

/** Homes of the test accounts. */
export const homesDirectory = join(publicDirectory, 'home');

function suffix(): string {
  if (chosenCacheHome === '') return '';
  return `-${createHash('sha256').update(chosenCacheHome).digest('hex').slice(0, 8)}`;
}
