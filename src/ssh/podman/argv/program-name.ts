/** The last part of a path: `crun` of `/usr/bin/crun`. */
export function programName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
