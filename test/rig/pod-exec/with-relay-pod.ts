import { afterAll, beforeAll, beforeEach } from 'vitest';
import { openSite, type Site } from '../site/site.ts';
import { RelayPod } from './relay-pod.ts';

/** Creates one `RelayPod` for the tests of a file. They are skipped, with the reason, if the site has no node. */
export function withRelayPod(take: (box: RelayPod, site: Site) => void): void {
  let site: Site;
  let box: RelayPod | undefined;
  beforeAll(async () => {
    site = await openSite();
    if (site.skipReason('node') !== undefined) return;
    box = await RelayPod.make(site);
    take(box, site);
  }, 600_000);
  beforeEach(({ skip }) => {
    const reason = site.skipReason('node');
    skip(reason !== undefined, reason);
  });
  afterAll(() => box?.remove());
}
