import { existsSync, realpathSync } from 'node:fs';
import type { Profile } from '../../config/profile/profile.ts';
import { isWithin, mountProblem } from '../../config/profile/protected-folders.ts';
import { BerthError } from '../../errors.ts';
import type { ReadyMount } from './argv/podman-run.ts';
import { profileMounts } from '../request/profile-mounts.ts';
import type { SessionHost } from '../request/session-host.ts';
import { filesInside } from '../../transfer-tools.ts';
import { fillTemplate } from '../request/template.ts';

export interface ReadyMounts {
  readonly mounts: readonly ReadyMount[];
  /** Sources that are not there, and that the profile can do without. */
  readonly skipped: readonly string[];
  /** By its target, what each source led to when it was checked: a path without a symlink. */
  readonly checked: ReadonlyMap<string, string>;
}

/**
 * The mounts of a profile for this user, on this host, as it is now.
 *
 * @param filesFolder Of the bundled file-transfer programs; mounted where it is there.
 * @throws {BerthError} `session-mount-missing`, `session-mount-forbidden`, and as `fillTemplate`
 */
export function readyMounts(
  profile: Profile,
  host: Pick<SessionHost, 'user' | 'storage' | 'runFolder'>,
  filesFolder: string,
): ReadyMounts {
  const mounts: ReadyMount[] = [];
  const skipped: string[] = [];
  const checked = new Map<string, string>();
  for (const mount of profileMounts(profile)) {
    const source = fillTemplate(mount.source, host.user);
    const target = fillTemplate(mount.target ?? mount.source, host.user);
    const real = harmless(source, profile, host);
    if (real !== undefined) {
      mounts.push({ source, target, readOnly: mount.readOnly });
      checked.set(target, real);
    } else if (mount.missing === 'skip') skipped.push(source);
    else throw missing(source, profile);
  }
  if (existsSync(filesFolder))
    mounts.push({ source: filesFolder, target: filesInside, readOnly: true });
  return { mounts, skipped, checked };
}

/**
 * A session that could write there could make podman run things on the host. A symlink counts as what
 * it leads to: a profile may name a folder that is the user's own to replace, also between this and the
 * mount (`assertMounted`).
 *
 * @returns What it leads to; nothing where nothing is there.
 */
function harmless(
  source: string,
  { name }: Profile,
  { storage, runFolder }: Pick<SessionHost, 'storage' | 'runFolder'>,
): string | undefined {
  const found = existsSync(source) ? realpathSync(source) : undefined;
  const real = found ?? source;
  const problem = mountProblem(source, storage) ?? mountProblem(real, resolved(storage));
  const run = resolved(runFolder);
  if (problem === undefined && !isWithin(real, run) && !isWithin(run, real)) return found;
  const what = problem ?? `gives away ${runFolder}, which stays outside`;
  throw new BerthError(`profile ${name} mounts ${source}: it ${what}`, {
    code: 'session-mount-forbidden',
    exit: 'config',
    hint: 'What lies there steers podman on the host: mount a folder beside it.',
  });
}

function resolved(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

function missing(source: string, { name }: Profile): BerthError {
  return new BerthError(`profile ${name} mounts ${source}, which is not there`, {
    code: 'session-mount-missing',
    exit: 'unavailable',
    hint: 'Is the file system mounted on this host? `missing: skip` in the profile goes on without it.',
    fields: { file: source },
  });
}
