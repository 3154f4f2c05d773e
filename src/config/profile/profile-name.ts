/** Part of a container's name, and of what is typed after `--profile`. */
export function isProfileName(name: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,39}$/.test(name);
}
