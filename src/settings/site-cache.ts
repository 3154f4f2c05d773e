import { deepFreeze } from '../config/deep-freeze.ts';
import type { SiteSettings } from '../config/settings.ts';
import type { LoadedSettings } from '../config/site-parts.ts';
import { fileIdentity } from '../system/config-files.ts';
import { readPrivateFile } from '../system/private-file.ts';
import { fromPlain, type PlainError, toPlain } from './serialized-error.ts';

/** What must be the same for the kept settings to be the ones that reading everything would give. */
export interface CacheKey {
  /** Berth's own build: another one may read the same files differently. */
  readonly build: string;
  /** The paths that were asked for. */
  readonly asked: readonly (string | undefined)[];
}

interface CacheContents {
  readonly key: string;
  /** Every file and directory that was read, with its identity then. */
  readonly sources: readonly (readonly [path: string, identity: string])[];
  readonly settings: SiteSettings;
  readonly broken: readonly { readonly cluster: string; readonly error: PlainError }[];
}

const largest = 16 * 1024 * 1024;

/**
 * The settings as they were checked before, if no file changed since: one file is read, the others
 * are only looked at. YAML and schemas cost a hook more than all its other work (docs/performance.md).
 *
 * @returns Nothing where something changed, or there is no cache.
 * @throws BerthError `private-file-unsafe` where somebody else could have written or read the cache
 */
export function readCachedSettings(
  path: string,
  key: CacheKey,
  uid: number,
): LoadedSettings | undefined {
  const text = readPrivateFile(path, uid, largest);
  const contents = text === undefined ? undefined : parse(text);
  if (contents?.key !== JSON.stringify(key)) return undefined;
  const same = contents.sources.every(([source, identity]) => fileIdentity(source) === identity);
  if (!same) return undefined;
  return {
    settings: deepFreeze(contents.settings),
    broken: contents.broken.map(({ cluster, error }) => ({
      cluster,
      error: fromPlain(error),
    })),
  };
}

/** Half a file cannot be, but a foreign one can: whatever is no cache of ours is none. */
function parse(text: string): CacheContents | undefined {
  try {
    return JSON.parse(text) as CacheContents | undefined;
  } catch {
    return undefined;
  }
}

/**
 * Keeps checked settings for the next hook, mode 0600: a client secret is among them.
 *
 * @throws what `writeAtomically` throws, and errors of mkdir
 */
export async function writeCachedSettings(
  path: string,
  key: CacheKey,
  sources: ReadonlyMap<string, string>,
  { settings, broken }: LoadedSettings,
): Promise<void> {
  const { mkdir } = await import('node:fs/promises');
  const paths = await import('node:path');
  const { writeAtomically } = await import('../system/atomic-file.ts');
  const contents: CacheContents = {
    key: JSON.stringify(key),
    sources: [...sources],
    settings,
    broken: broken.map(({ cluster, error }) => ({ cluster, error: toPlain(error) })),
  };
  await mkdir(paths.dirname(path), { recursive: true, mode: 0o700 });
  await writeAtomically(path, JSON.stringify(contents), { mode: 0o600 });
}
