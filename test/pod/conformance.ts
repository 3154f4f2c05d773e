import { conformance } from '../ssh/conformance/on-host.ts';
import { openSite } from '../site/site.ts';
import { startPodHost } from './pod-host.ts';

/** The suite of the SSH sessions, unchanged, against pods. */
export function conformanceOfPods(mode: 'forced' | 'login-shell', profile: object): void {
  conformance(
    `Berth as ${mode}, in pods of lifetime ${JSON.stringify(profile)}`,
    async () => startPodHost(await openSite(), { mode, profile }),
    {},
  );
}
