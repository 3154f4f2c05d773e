import { kyverno } from '../../site-exclusive/admission/kyverno/kyverno-cli.ts';
import { ciliumBinaries } from './kubernetes-node/cilium/build.ts';

/**
 * Builds programs that only some tests need and that take minutes to build once, while other tests run. A
 * test that needs one waits for its build. Errors are ignored here: the test that needs the program builds
 * it again and reports the error.
 */
export async function prebuild(): Promise<void> {
  for (const build of [kyverno, ciliumBinaries])
    try {
      await build();
    } catch {
      // The test that needs the program reports the error.
    }
}
