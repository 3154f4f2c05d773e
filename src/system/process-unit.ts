import { readFileSync } from 'node:fs';

/**
 * The systemd service that a process belongs to, from its cgroup, which only root can change.
 *
 * @returns undefined without systemd, for a process of a login session, or for one that has ended
 */
export function systemdUnitOf(pid: number): string | undefined {
  return /^\/.*?([^/\n]+\.service)$/.exec(systemdPath(pid))?.[1];
}

/**
 * The unit of systemd's manager of a user (user@UID.service) that a process belongs to. The user can move it to another
 * unit of the same manager, but not out of it.
 *
 * @returns undefined if it belongs to none, or has ended
 */
export function userManagerUnit(pid: number, uid: number): string | undefined {
  const own = `/user.slice/user-${uid}.slice/user@${uid}.service/`;
  const path = systemdPath(pid);
  const below = path.startsWith(own) ? path.slice(own.length) : undefined;
  return below?.split('/').find((name) => /\.(?:service|scope)$/.test(name));
}

/** The path in systemd's hierarchy: `0::/PATH` with the unified one; `1:name=systemd:/PATH` without. '' if it has ended. */
function systemdPath(pid: number): string {
  try {
    const text = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
    // A name may have other characters at which a line ends for `^` and `$`.
    const paths = text
      .split('\n')
      .map((line) => /^(?:0:|[0-9]+:name=systemd):(\/[^]*)/.exec(line)?.[1]);
    return paths.find((path) => path !== undefined && path !== '/') ?? '';
  } catch {
    return '';
  }
}
