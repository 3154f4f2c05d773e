import { installBerth } from './portal.ts';
import { nodeBinaries } from './node/binaries.ts';
import { openSite } from './site.ts';
import { say } from './progress.ts';
import { stopSite } from './start.ts';

/**
 * Once per test run: the site is started or found running, and Berth is installed into it: a start
 * empties the site's folders, so never before. A developer keeps the site; in CI it ends with the run.
 */
export async function setup(): Promise<void> {
  const { skips } = await openSite();
  await installBerth();
  // From nothing it takes minutes, which no single test has.
  await nodeBinaries();
  for (const { feature, reason } of skips) say(`skipping tests of ${feature}: ${reason}`);
}

export async function teardown(): Promise<void> {
  if (process.env.CI === 'true') await stopSite();
}
