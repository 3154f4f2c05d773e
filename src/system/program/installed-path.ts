declare const BERTH_PREFIX: string | undefined;

/** The prefix of `npm run install:site -- --prefix`, which the build sets. */
const prefix = typeof BERTH_PREFIX === 'undefined' ? '/usr/lib/berth' : BERTH_PREFIX;

/**
 * The absolute path of a file that is installed with Berth, for hints. `share` contains this repository's `etc` and `docs`.
 *
 * @param path relative to the prefix
 */
export function installedPath(
  path: 'files' | `${'hooks' | 'shell' | 'share/etc' | 'share/docs'}/${string}`,
): string {
  return `${prefix}/${path}`;
}

/** The path of a program that is built with this one; its source, if this one was not built. */
export function programPath(entry: `hooks/${string}`): string {
  return typeof BERTH_PREFIX === 'undefined'
    ? new URL(`../../../${entry}.ts`, import.meta.url).pathname
    : `${prefix}/${entry}`;
}

/** An example of this repository with the paths of this installation. */
export function withInstalledPaths(example: string): string {
  return example.replaceAll('/usr/lib/berth/', `${prefix}/`);
}
