/** Checks the name of a profile, which is part of the names of its containers and pods, and a label of them. */
export function isProfileName(name: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/.test(name);
}
