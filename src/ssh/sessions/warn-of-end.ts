import { countText } from '../../count-text.ts';
import type { BerthContainer } from '../../backends/podman/remove-containers.ts';
import type { SessionContext } from '../../connections/state-paths.ts';
import { openConnectionsOf } from './list-sessions.ts';
import { connectionUsages } from './session-processes.ts';
import { tellSessions } from './tell-sessions.ts';

/** How long before its end the users of a container are told. Milliseconds. */
const lastCallMs = 300_000;

/**
 * Tells the user at the terminals of these containers that they end soon, or now: one whose `lifetime` is a duration ends
 * then, whoever is connected. Called by the reaper, so that it is said about each minute, as by shutdown(8).
 */
export function warnOfEnd(
  site: Pick<SessionContext, 'run' | 'settings' | 'now'>,
  uid: number,
  containers: readonly BerthContainer[],
): void {
  const ending = containers.flatMap(({ name, profile, lifetime, created }) => {
    if (lifetime.kind !== 'duration') return [];
    const leftMs = created + lifetime.durationMs - site.now();
    const isTold = leftMs <= lastCallMs && site.settings.profiles.get(profile)?.notices !== false;
    return isTold ? [{ name, leftMs }] : [];
  });
  if (ending.length === 0) return;
  const usages = [...connectionUsages(openConnectionsOf(site.run, uid)).values()];
  for (const { name, leftMs } of ending) {
    const minutes = countText(Math.ceil(leftMs / 60_000), 'minute');
    const when = leftMs > 0 ? `in about ${minutes}. Save your work.` : 'now.';
    const sessions = usages.flatMap(({ container, terminals }) =>
      container === name ? { uid, terminals } : [],
    );
    tellSessions(
      sessions,
      `The lifetime of your container ${name} is nearly over: it ends ${when}`,
    );
  }
}
