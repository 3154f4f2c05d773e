import { installBerth } from '../site/portal.ts';

/**
 * Installs Berth once per test run, where users can run it, unless test/run.ts has done so. The Kubernetes
 * site is not needed.
 */
export async function setup(): Promise<void> {
  if (process.env.BERTH_TEST_SITE !== 'ready') await installBerth();
}
