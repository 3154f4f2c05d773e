import type { User } from './nss.ts';

/**
 * /etc/passwd of a pod (passwd(5)): the user, root and nobody. The image's file cannot be written in the pod, and the
 * container runtime does not add the user.
 *
 * @param own the profile's shell; the user's own if absent
 */
export function passwdFile({ name, uid, gid, home, shell }: User, own?: string): string {
  return lines([`${name}:*:${uid}:${gid}::${home}:${own ?? shell}`, ...systemUsers]);
}

/** /etc/group of a pod (group(5)): the user's groups with the site's names, and the usual system groups. */
export function groupFile({ gid, groups, name }: User, names: ReadonlyMap<number, string>): string {
  const own = [...new Set([gid, ...groups])].flatMap((id) => {
    const known = names.get(id) ?? (id === gid ? name : undefined);
    return known === undefined ? [] : [`${known}:x:${id}:`];
  });
  return lines([...own, ...systemGroups]);
}

const systemUsers = [
  'root:*:0:0::/root:/bin/sh',
  'nobody:*:65534:65534::/nonexistent:/usr/sbin/nologin',
];
const systemGroups = ['root:x:0:', 'tty:x:5:', 'nogroup:x:65534:'];

function lines(all: readonly string[]): string {
  return `${all.join('\n')}\n`;
}
