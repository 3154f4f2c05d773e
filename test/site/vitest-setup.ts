import { installBerth } from './portal.ts';
import { openSite } from './site.ts';
import { say } from './progress.ts';
import { stopSite } from './start.ts';

/**
 * Once per test run: Berth is installed and the site is started or found running. A developer keeps it for the next run; in
 * CI it ends with the run.
 */
export async function setup(): Promise<void> {
  await installBerth();
  const { skips } = await openSite();
  for (const { feature, reason } of skips) say(`skipping tests of ${feature}: ${reason}`);
}

export async function teardown(): Promise<void> {
  if (process.env.CI === 'true') await stopSite();
}
