import { type Backend, namesBackend } from '../../config/schema/profile/profile.ts';
import type { SessionContext } from '../connections/state-paths.ts';
import type { User } from '../../system/identity/nss.ts';
import { withSessionProfiles } from '../../config/load/session-profiles.ts';
import type { OwnSessions } from './own-session.ts';

/**
 * What sessions of the user who runs this process run in: on this host, or reachable from it. Starts nothing.
 *
 * @throws {BerthError} the errors of `ownContainers`
 */
export async function ownSessionsIn(
  backend: Backend,
  site: SessionContext,
  user: User,
): Promise<OwnSessions> {
  // Containers of profiles that were removed count, too.
  if (backend === 'podman') {
    const { ownContainers } = await import('./podman/own-containers.ts');
    return { sessions: await ownContainers(site, user), failed: [] };
  }
  const settings = withSessionProfiles(site.settings);
  if (!namesBackend(settings, backend)) return { sessions: [], failed: [] };
  if (backend === 'slurm') {
    const { ownJobs } = await import('./slurm/own-jobs.ts');
    return ownJobs(settings, user, site.now());
  }
  const { ownPods } = await import('./pod/own-pods.ts');
  return ownPods(site, user);
}
