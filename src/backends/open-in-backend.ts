import type { LoginSession, OpenedSession } from './backend.ts';
import { openContainerSession } from './podman/open-container-session.ts';

/**
 * Opens a session in what its profile says. A login loads nothing else of this directory.
 *
 * @returns `host-shell` if it failed, and the profile gives the user a shell on the host instead
 * @throws {BerthError} the errors of `openContainerSession` and `openPodSession`
 */
export async function openInBackend(session: LoginSession): Promise<OpenedSession | 'host-shell'> {
  if (session.profile.backend === 'podman') return openContainerSession(session);
  // Loading TLS takes as long as the rest of a login.
  const { openPodSession } = await import('./pod/open-pod-session.ts');
  return openPodSession(session);
}
