import type { BackendPlan, PlanInput, SessionToOpen } from './backend.ts';
import { planPodSession } from './pod/plan-pod-session.ts';
import { planContainerSession } from './podman/plan-container-session.ts';

/** What `openInBackend` would start and run. @throws {BerthError} the errors of the two functions below */
export async function planInBackend(
  session: SessionToOpen,
  input: PlanInput,
): Promise<BackendPlan> {
  return session.profile.backend === 'podman'
    ? planContainerSession(session, input)
    : { obstacles: [], pod: await planPodSession(session, input) };
}
