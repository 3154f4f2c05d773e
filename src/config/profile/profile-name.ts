/** Checks the name of a profile, which is part of its containers' names. */
export function isProfileName(name: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,39}$/.test(name);
}
