import type { OwnSession } from '../../sessions/backends/own-session.ts';
import type { OwnQuota, OwnQuotas } from '../../sessions/backends/pod/own-quotas.ts';
import { namesBackend } from '../../config/schema/profile/profile.ts';
import type { SessionContext } from '../../sessions/connections/state-paths.ts';
import { type OwnCredential, ownCredentials } from '../../credentials/own-credentials.ts';
import type { BerthError } from '../../system/errors/berth-error.ts';
import type { User } from '../../system/identity/nss.ts';
import { withSessionProfiles } from '../../config/load/session-profiles.ts';
import { ownSessions } from './own-sessions.ts';

/** What the user's sessions run on, and for how long. */
export interface OwnStatus {
  readonly jobs: readonly OwnSession[];
  readonly quotas: readonly OwnQuota[];
  readonly credentials: readonly OwnCredential[];
  /** Why a part is missing. */
  readonly failed: readonly BerthError[];
}

/** The status of the user who runs this process. A part that fails affects only itself. */
export async function ownStatus(site: SessionContext, user: User): Promise<OwnStatus> {
  const [jobs, { quotas, failed }, credentials] = await Promise.all([
    ownSessions(site, user, ['slurm']),
    quotasOf(site, user),
    ownCredentials(user),
  ]);
  return { jobs: jobs.sessions, quotas, credentials, failed: [...jobs.failed, ...failed] };
}

async function quotasOf({ settings }: SessionContext, user: User): Promise<OwnQuotas> {
  if (!namesBackend(withSessionProfiles(settings), 'pod')) return { quotas: [], failed: [] };
  const { ownQuotas } = await import('../../sessions/backends/pod/own-quotas.ts');
  return ownQuotas(user);
}
