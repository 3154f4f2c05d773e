import { kyverno } from '../../site-exclusive/admission/kyverno/kyverno-cli.ts';
import { ciliumBinaries } from './node/cilium/build.ts';

/**
 * What single tests need and what takes minutes to build once, beside the tests that do not. A test that
 * comes first waits for it; why a build failed, the test says that needs it.
 */
export async function buildAhead(): Promise<void> {
  for (const build of [kyverno, ciliumBinaries])
    try {
      await build();
    } catch {
      // See above.
    }
}
