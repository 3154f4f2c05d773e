import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { deepFreeze } from '../schema/deep-freeze.ts';
import {
  BerthError,
  expectBerthError,
  type ErrorCode,
  type ErrorDetails,
} from '../../system/errors/berth-error.ts';
import { fileIdentity, readConfigFile } from '../../system/config-files.ts';
import { readPrivateFile } from '../../system/private-file.ts';
import { parsedJson } from '../../system/text/parsed-json.ts';

/** A file with checked settings as JSON, so that an unchanged configuration is not parsed again. */
export interface SettingsCache {
  readonly path: string;
  /** Berth's build: another one may read the same files differently. */
  readonly build: string;
  /** The paths that the caller asked for. */
  readonly asked: readonly (string | undefined)[];
  /** The only user who may own and read the file (mode 0600). Where absent: root's, mode 0644. */
  readonly privateTo?: number;
}

interface CacheContents {
  readonly build: string;
  readonly asked: SettingsCache['asked'];
  /** Every file and directory that was read, with its identity at that time. */
  readonly sources: readonly (readonly [path: string, identity: string])[];
  readonly settings: unknown;
}

const maximumBytes = 16 * 1024 * 1024;

/**
 * The settings as they were written, frozen, with maps as their entries and errors as `SerializedError`. One
 * file is read; of its sources only the identity is compared. Parsing YAML and loading the schemas would
 * cost a hook more than all its other work (docs/performance.md).
 *
 * @returns undefined if there is no cache, a source has changed, or the file is not a cache of this
 *   build; also if a cache that is not private is not root's.
 * @throws BerthError `private-file-unsafe` if others could have written or read a private cache
 */
export function readSettingsCache(cache: SettingsCache): unknown {
  const text = readText(cache);
  const contents = parsedJson(text ?? '') as CacheContents | undefined;
  const current =
    contents?.build === cache.build &&
    JSON.stringify(contents.asked) === JSON.stringify(cache.asked) &&
    contents.sources.every(([source, identity]) => fileIdentity(source) === identity);
  return current ? deepFreeze(contents.settings) : undefined;
}

/** How the configuration differs from what was kept last. */
export interface ChangedSources {
  /** When it was kept: seconds since the epoch. */
  readonly kept: number;
  /** Files and directories that have changed since; those that are missing or new, too. */
  readonly changed: readonly string[];
}

/**
 * Which files have changed since the settings were kept, whichever build and for whatever paths.
 *
 * @returns undefined if none are kept
 * @throws BerthError as `readSettingsCache`
 */
export function changedSources(
  cache: Pick<SettingsCache, 'path' | 'privateTo'>,
): ChangedSources | undefined {
  const text = readText(cache);
  const contents = parsedJson(text ?? '') as CacheContents | undefined;
  if (contents === undefined) return undefined;
  const changed = contents.sources.filter(([path, identity]) => fileIdentity(path) !== identity);
  return {
    kept: Math.floor(statSync(cache.path).mtimeMs / 1000),
    changed: changed.map(([path]) => path),
  };
}

function readText({
  path,
  privateTo,
}: Pick<SettingsCache, 'path' | 'privateTo'>): string | undefined {
  if (privateTo !== undefined) return readPrivateFile(path, privateTo, maximumBytes);
  try {
    // Root's, whoever reads it: a user must not choose the settings of the user's own session.
    return readConfigFile(path, 0).bytes.toString('utf8');
  } catch (error) {
    expectBerthError(error);
    return undefined;
  }
}

/**
 * Keeps checked settings for the next process.
 *
 * @param sources every file and directory they were read from (`ConfigReader`)
 * @throws what `writeAtomically` throws, and errors of mkdir
 */
export async function writeSettingsCache(
  { path, build, asked, privateTo }: SettingsCache,
  sources: ReadonlyMap<string, string>,
  settings: object,
): Promise<void> {
  const files = await import('node:fs/promises');
  const { writeAtomically } = await import('../../system/atomic-file.ts');
  const isPrivate = privateTo !== undefined;
  const directory = dirname(path);
  const mode = isPrivate ? 0o700 : 0o755;
  // mkdir applies the umask, which PAM may have set to any value.
  if ((await files.mkdir(directory, { recursive: true, mode })) !== undefined)
    await files.chmod(directory, mode);
  const contents = { build, asked, sources: [...sources], settings };
  await writeAtomically(path, JSON.stringify(contents, toPlain), {
    mode: isPrivate ? 0o600 : 0o644,
    replaceable: true,
  });
}

/** An error as the cache holds it: everything but its cause. */
export interface SerializedError extends Omit<Required<ErrorDetails>, 'cause'> {
  readonly code: ErrorCode;
  readonly message: string;
}

export function deserializeError(error: SerializedError): BerthError {
  return new BerthError(error.code, error.message, error);
}

/** For JSON.stringify: a map becomes its entries, an error a `SerializedError`. */
function toPlain(_key: string, value: unknown): unknown {
  if (value instanceof Map) return [...(value as Map<unknown, unknown>)];
  if (!(value instanceof BerthError)) return value;
  const { message, code, exit, hint, forUser, fields } = value;
  return { message, code, exit, hint, forUser, fields } satisfies SerializedError;
}
