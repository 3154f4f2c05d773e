/**
 * The GID of a group from NSS (files, LDAP, sssd), without starting a process: `setegid(name)` calls glibc's getgrnam, and
 * treats a string as a name even if it consists of digits. Only for root; the process is in that group for some
 * microseconds.
 *
 * @returns undefined if there is no such group
 */
export function groupId(name: string): number | undefined {
  const before = process.getegid?.() ?? 0;
  try {
    process.setegid?.(name);
    return process.getegid?.();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_UNKNOWN_CREDENTIAL')
      return undefined;
    throw error;
  } finally {
    process.setegid?.(before);
  }
}
