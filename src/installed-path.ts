declare const BERTH_PREFIX: string | undefined;

/** `npm run install:site -- --prefix`, which scripts/outputs.ts puts in; the sources run uncompiled as if there. */
const prefix = typeof BERTH_PREFIX === 'undefined' ? '/usr/lib/berth' : BERTH_PREFIX;

/**
 * The absolute path of a file that is installed with Berth, for hints: `share` holds this repository's `etc` and
 * `docs`.
 *
 * @param path below the prefix
 */
export function installedPath(
  path: 'files' | `${'hooks' | 'shell' | 'share/etc' | 'share/docs'}/${string}`,
): string {
  return `${prefix}/${path}`;
}
