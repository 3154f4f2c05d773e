/**
 * Checks the name of a kind: the NAME of berth-sshd@NAME.service and of /etc/ssh/berth/NAME.conf. systemd would
 * escape other characters, and a path could leave the directory.
 */
export function isKindName(name: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,39}$/.test(name);
}
