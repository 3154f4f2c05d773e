import { installBerth } from '../site/portal.ts';

/**
 * Once per test run: installs Berth where users can run it, unless the caller has done so. The Kubernetes site is not
 * needed.
 */
export async function setup(): Promise<void> {
  if (process.env.BERTH_TEST_SITE !== 'ready') await installBerth();
}
