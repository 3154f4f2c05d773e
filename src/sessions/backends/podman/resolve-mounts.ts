import { existsSync, realpathSync } from 'node:fs';
import type { Profile } from '../../../config/schema/profile/profile.ts';
import { isWithin, mountProblem } from '../../../config/schema/profile/mount-path.ts';
import { BerthError } from '../../../system/errors/berth-error.ts';
import type { ResolvedMount } from './argv/podman-run.ts';
import { profileMounts } from '../../request/session-environment.ts';
import type { SessionHost } from '../../request/session-host.ts';
import { transferToolsDir } from '../../../config/schema/bundled-transfer-argv.ts';
import { fillTemplate } from '../../request/fill-template.ts';

export interface ResolvedMounts {
  readonly mounts: readonly ResolvedMount[];
  /** Missing sources of mounts that have `missing: skip`. */
  readonly skipped: readonly string[];
  /** By target: the path without symbolic links that each source led to when it was checked. */
  readonly checked: ReadonlyMap<string, string>;
}

/**
 * The mounts of a profile for this user, on this host, at this moment.
 *
 * @param toolsDir Directory of the bundled file-transfer programs; mounted if it exists.
 * @throws {BerthError} `session-mount-missing`, `session-mount-forbidden`, the errors of `fillTemplate`
 */
export function resolveMounts(
  profile: Profile,
  host: Pick<SessionHost, 'user' | 'storage' | 'runtimeDir' | 'jobDirectory'>,
  toolsDir: string,
): ResolvedMounts {
  const mounts: ResolvedMount[] = [];
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
    else
      throw new BerthError(
        'session-mount-missing',
        `profile ${profile.name} mounts ${source}, which does not exist`,
        {
          fields: { file: source },
        },
      );
  }
  if (existsSync(toolsDir))
    mounts.push({ source: toolsDir, target: transferToolsDir, readOnly: true });
  return { mounts, skipped, checked };
}

/**
 * Refuses a source through which a session could make podman run programs on the host. Symbolic links are
 * followed, since a profile may name a directory that the user can replace, even between this check and the
 * mount (`assertMounted` checks that).
 *
 * @returns The path that it leads to; undefined if nothing exists there.
 */
function harmless(
  source: string,
  { name }: Profile,
  {
    storage,
    runtimeDir,
    jobDirectory,
  }: Pick<SessionHost, 'storage' | 'runtimeDir' | 'jobDirectory'>,
): string | undefined {
  const found = existsSync(source) ? realpathSync(source) : undefined;
  const real = found ?? source;
  const problem = mountProblem(source, storage) ?? mountProblem(real, resolved(storage));
  const run = resolved(runtimeDir);
  // In a job, users run programs outside of the container anyway, and the directory may be below /tmp.
  const exposed = jobDirectory === undefined && (isWithin(real, run) || isWithin(run, real));
  if (problem === undefined && !exposed) return found;
  const what = problem ?? `exposes ${runtimeDir}, which sessions must not reach`;
  throw new BerthError(
    'session-mount-forbidden',
    `profile ${name} mounts ${source}, which ${what}`,
  );
}

function resolved(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}
