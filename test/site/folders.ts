import { homedir } from 'node:os';
import { join } from 'node:path';

const cacheHome =
  process.env.XDG_CACHE_HOME === undefined || process.env.XDG_CACHE_HOME === ''
    ? join(homedir(), '.cache')
    : process.env.XDG_CACHE_HOME;

/** What is built or downloaded once and outlives every site. */
export const cacheFolder = join(cacheHome, 'berth');

/** The running site: `site.json`, keys, logs, data. Only its owner can read it. */
export const siteFolder = join(cacheFolder, 'site');

/**
 * What other accounts must reach: the CA certificate, kubectl, the homes of test accounts. Root's own
 * home is usually closed to them, so root's public folder stands outside of it.
 */
export const publicFolder =
  process.getuid?.() === 0 ? '/var/lib/berth-test-site' : join(siteFolder, 'public');

/** Homes of the accounts that tests make. */
export const homesFolder = join(publicFolder, 'home');
