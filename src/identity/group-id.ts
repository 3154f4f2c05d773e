/**
 * The GID of a group as NSS has it (files, LDAP, sssd), without a child: glibc's getgrnam is reached
 * through `setegid(name)`, which takes text for a name also where it is of digits. For root only; the
 * process is in that group for some microseconds.
 *
 * @returns Nothing where there is no such group.
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
