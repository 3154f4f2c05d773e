import { homedir } from 'node:os';
import { join } from 'node:path';

// An empty value counts as none (XDG Base Directory Specification).
const { XDG_CACHE_HOME: chosen = '' } = process.env;

/** Programs, images and downloads that are made once; tests and packages share it. */
export const cacheDirectory = join(chosen === '' ? join(homedir(), '.cache') : chosen, 'berth');
