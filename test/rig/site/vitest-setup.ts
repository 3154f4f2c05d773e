import { installBerth } from './portal.ts';
import { ensureNode } from './node/node.ts';
import { openSite } from './site.ts';
import { say } from './progress.ts';
import { stopSite } from './start.ts';

/** True where test/run.ts has started the site for several runs, and ends it after the last. */
const othersDoIt = process.env.BERTH_TEST_SITE === 'ready';

/**
 * Once per test run: the site is started or found running, and Berth is installed into it: a start
 * empties the site's folders, so never before. A developer keeps the site; in CI it ends with the run.
 */
export async function setup(): Promise<void> {
  if (othersDoIt) return;
  const site = await openSite();
  const { skips } = site;
  await installBerth();
  // From nothing it takes minutes, which no single test has. And here: a test that tries commands in an
  // /etc of its own would give the node that /etc, which ends with the test.
  if (site.skipped('node') === undefined) await ensureNode(site);
  for (const { feature, reason } of skips) say(`skipping tests of ${feature}: ${reason}`);
}

export async function teardown(): Promise<void> {
  if (process.env.CI === 'true' && !othersDoIt) await stopSite();
}
