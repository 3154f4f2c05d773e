import { installBerth } from './portal.ts';
import { ensureNode } from './kubernetes-node/node.ts';
import { openSite } from './site.ts';
import { say } from './progress.ts';
import { stopSite } from './start.ts';

/** Set by test/run.ts, which starts the site once for several runs of Vitest and stops it after the last. */
const sitePrepared = process.env.BERTH_TEST_SITE === 'ready';

/**
 * Starts the site unless it is running, then installs Berth: the start removes the public directory in which
 * Berth is installed. `teardown` stops the site only in CI.
 */
export async function setup(): Promise<void> {
  if (sitePrepared) return;
  const site = await openSite();
  const { skips } = site;
  await installBerth();
  // The first start takes minutes, longer than the time limit of a test. It is started here also because a
  // test that runs in its own /etc would give the node that /etc, which is removed with the test.
  if (site.skipReason('node') === undefined) await ensureNode(site);
  for (const { feature, reason } of skips) say(`skipping tests of ${feature}: ${reason}`);
}

export async function teardown(): Promise<void> {
  if (process.env.CI === 'true' && !sitePrepared) await stopSite();
}
