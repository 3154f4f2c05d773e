/** The last component of a path: `crun` for `/usr/bin/crun`. */
export function programName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
