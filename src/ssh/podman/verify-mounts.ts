import { readFileSync } from 'node:fs';
import type { Profile } from '../../config/profile/profile.ts';
import { isWithin } from '../../config/profile/protected-folders.ts';
import { BerthError } from '../../errors.ts';

/** A line of /proc/PID/mountinfo, proc(5). */
interface Mount {
  /** `MAJOR:MINOR` of the file system, and the folder in it that is seen at `at`. */
  readonly device: string;
  readonly root: string;
  readonly at: string;
}

/** Where a path is, by file system and not by name. */
export interface Origin {
  readonly device: string;
  readonly path: string;
}

/** Of checked paths, to be asked before podman is run. */
export function originsOf(
  checked: ReadonlyMap<string, string>,
  mountinfo = readMounts('self'),
): ReadonlyMap<string, Origin> {
  return new Map(
    [...checked].flatMap(([target, path]) => {
      const mount = mountAround(path, mountinfo);
      if (mount === undefined) return [];
      const below = mount.at === '/' ? path : path.slice(mount.at.length);
      return [[target, { device: mount.device, path: joined(mount.root, below) }]];
    }),
  );
}

/**
 * Whether a container that was just started has mounted what was checked. A user can turn a symlink on the
 * way to a source to another folder after the check and before the mount, and podman takes no open folder
 * instead of a path (rootless, in a mount namespace of its own, the kernel binds nothing of another's). So
 * the kernel is asked what it is, before anybody gets in.
 *
 * @param pid Of the container's first process.
 * @throws {BerthError} `session-mount-changed`
 */
export function assertMounted(
  pid: number,
  origins: ReadonlyMap<string, Origin>,
  { name }: Pick<Profile, 'name'>,
  mountinfo = readMounts(String(pid)),
): void {
  const claimed = new Set<Mount>();
  for (const [target, origin] of origins) {
    const is = ({ device, root }: Mount): boolean =>
      device === origin.device && root === origin.path;
    const there = mountinfo.filter(({ at }) => at === target);
    // An image may have a symlink on the way to the target: then the mount has another name.
    const found = (there.length > 0 ? there.slice(-1) : mountinfo).find(
      (mount) => is(mount) && !claimed.has(mount),
    );
    if (found === undefined) throw changed(target, name);
    claimed.add(found);
  }
}

function readMounts(pid: string): readonly Mount[] {
  return mountsIn(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'));
}

export function mountsIn(text: string): readonly Mount[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, , device = '', root = '', at = ''] = line.split(' ');
      return { device, root: unescaped(root), at: unescaped(at) };
    });
}

/** Blanks, line feeds and backslashes are written in octal there. */
function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

/** The last one that was mounted at the longest path around it. */
function mountAround(path: string, mounts: readonly Mount[]): Mount | undefined {
  let around: Mount | undefined;
  for (const mount of mounts)
    if (isWithin(path, mount.at) && mount.at.length >= (around?.at.length ?? 0)) around = mount;
  return around;
}

function joined(root: string, below: string): string {
  const path = `${root}/${below}`.replace(/\/+/g, '/');
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function changed(target: string, profile: string): BerthError {
  return new BerthError(
    `the mount at ${target} (profile ${profile}) is not the source that was checked`,
    {
      code: 'session-mount-changed',
      exit: 'permission',
      hint: 'A symlink in the path of the source may have changed meanwhile. Log in again; if it repeats, check who can write that path.',
      fields: { file: target },
    },
  );
}
