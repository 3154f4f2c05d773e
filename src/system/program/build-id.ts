declare const BERTH_BUILD: string | undefined;
declare const BERTH_COMMIT: string | undefined;
declare const BERTH_VERSION: string | undefined;

/**
 * Identifies the sources that an output was compiled from. The build sets it; it is undefined if the sources run
 * uncompiled.
 */
export const buildId: string | undefined =
  typeof BERTH_BUILD === 'undefined' ? undefined : BERTH_BUILD;

/** The version of the package that this output is a part of; undefined if there is none, and that of package.json applies. */
export const packagedVersion: string | undefined =
  typeof BERTH_VERSION === 'undefined' ? undefined : BERTH_VERSION;

/** The commit of the sources, with `-dirty` after it if files were changed since; undefined if they are in no repository. */
export const sourceCommit: string | undefined =
  typeof BERTH_COMMIT === 'undefined' ? undefined : BERTH_COMMIT;
