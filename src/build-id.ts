declare const BERTH_BUILD: string | undefined;

/**
 * Names the sources that this file was compiled from; `scripts/build.ts` puts it in. Nothing where
 * the sources run uncompiled.
 */
export const buildId: string | undefined =
  typeof BERTH_BUILD === 'undefined' ? undefined : BERTH_BUILD;
