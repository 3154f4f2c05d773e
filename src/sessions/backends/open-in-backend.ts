import type { LoginSession, OpenedSession } from './backend.ts';
import { choiceRefused, firstChoice } from './slurm/argv/choice-variables.ts';
import { openContainerSession } from './podman/open-container-session.ts';

/**
 * Opens a session in what its profile says. A login loads nothing else of this directory.
 *
 * @returns `host-shell` if it failed, and the profile gives the user a shell on the host instead
 * @throws {BerthError} the errors of `openContainerSession`, `openPodSession` and `openSlurmSession`; `slurm-choice-refused`
 *   if the client chooses something of a job, and gets none
 */
export async function openInBackend(session: LoginSession): Promise<OpenedSession | 'host-shell'> {
  const { backend } = session.profile;
  // In a job of Slurm, the container is Podman's.
  if (session.host.jobDirectory !== undefined) return openContainerSession(session);
  const choice = backend === 'slurm' ? undefined : firstChoice(session.env);
  if (choice !== undefined) throw choiceRefused(...choice, 'this profile has no jobs of Slurm');
  if (backend === 'podman') return openContainerSession(session);
  if (backend === 'slurm') {
    const { openSlurmSession } = await import('./slurm/open-slurm-session.ts');
    return openSlurmSession(session);
  }
  // Loading TLS takes as long as the rest of a login.
  const { openPodSession } = await import('./pod/open-pod-session.ts');
  return openPodSession(session);
}
