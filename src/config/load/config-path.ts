/** From the installed path of a configuration file to the path that is read instead. */
export type ResolveConfigPath = (installedPath: string) => string;

/** Without an overlay: each file is read where it is installed. */
export const asInstalled: ResolveConfigPath = (path) => path;
