import type { User } from '../../../identity/user.ts';

/**
 * passwd(5) of a pod: the user, and those whom every image has. Nothing in a pod may write the image's
 * own file, and a container runtime writes none.
 *
 * @param shell The profile's; the user's own where absent.
 */
export function podPasswd({ name, uid, gid, home, shell }: User, own?: string): string {
  return lines([`${name}:*:${uid}:${gid}::${home}:${own ?? shell}`, ...systemUsers]);
}

/** group(5) of a pod: the user's groups, by the site's names, before those of every image. */
export function podGroup({ gid, groups, name }: User, names: ReadonlyMap<number, string>): string {
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
