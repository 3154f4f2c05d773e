declare const BERTH_BUILD: string | undefined;

/**
 * Identifies the sources that an output was compiled from. The build sets it; it is undefined if the sources run
 * uncompiled.
 */
export const buildId: string | undefined =
  typeof BERTH_BUILD === 'undefined' ? undefined : BERTH_BUILD;
