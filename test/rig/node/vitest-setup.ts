import { installBerth } from '../site/portal.ts';

/**
 * Once per test run: Berth is installed where users can run it, unless who started the run has done it.
 * The Kubernetes site is not needed.
 */
export async function setup(): Promise<void> {
  if (process.env.BERTH_TEST_SITE !== 'ready') await installBerth();
}
