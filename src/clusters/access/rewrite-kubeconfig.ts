import { withKubeconfigLock } from '../../credentials/kubeconfig/kubeconfig-lock.ts';
import type { Logger } from '../../log.ts';
import { writeAtomically } from '../../system/atomic-file.ts';
import type { Deadline } from '../../system/deadline.ts';

/**
 * Replaces root's kubeconfig under kubectl's lock. A dry run only makes the text.
 *
 * @param file not a symlink, which would be replaced by a file
 * @param change reads the file, which kubectl may have changed meanwhile, and makes its new text
 * @throws {BerthError} those of `change`, `withKubeconfigLock` and `writeAtomically`
 */
export async function rewriteKubeconfig(
  file: string,
  deps: { readonly deadline: Deadline; readonly log: Logger; readonly dryRun: boolean },
  change: () => string,
): Promise<void> {
  if (deps.dryRun) {
    change();
    return;
  }
  await withKubeconfigLock(file, deps, () => writeAtomically(file, change(), { mode: 0o600 }));
}
