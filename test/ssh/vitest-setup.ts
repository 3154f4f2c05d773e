import { installBerth } from '../site/portal.ts';

/** Once per test run: Berth is installed where users can run it. The Kubernetes site is not needed. */
export async function setup(): Promise<void> {
  await installBerth();
}
