import { dirname, resolve } from 'node:path';
import type { ClusterSettings } from '../../config/schema/settings.ts';
import { parseKubeconfig } from '../../credentials/kubeconfig/kubeconfig-document.ts';
import {
  apiServerFrom,
  needsKubectl,
  readContext,
  type ContextChoice,
  type ReadNamedFile,
} from '../../kube/admin-kubeconfig.ts';
import type { ApiServer } from '../../kube/api-server.ts';
import { asInvoker } from '../../system/as-user.ts';
import { hookAccess, contextChoice, type HookAccessDeps } from './hook-access.ts';
import { readTrusted } from '../../system/trusted-text.ts';

/**
 * As `hookAccess`, for admin commands: exec plugins and `proxy-url` work too. Not for a login.
 *
 * @throws {BerthError} what `hookAccess` and `kubectlAccess` throw
 */
export async function adminCommandAccess(
  cluster: ClusterSettings,
  deps: HookAccessDeps,
): Promise<ApiServer> {
  try {
    return await hookAccess(cluster, deps);
  } catch (thrown) {
    if (!needsKubectl(thrown)) throw thrown;
    const { file } = cluster.admin;
    const choice = contextChoice(cluster, deps.clusterCount);
    return asInvoker(() =>
      kubectlAccess(parseKubeconfig(readTrusted(file), file).values, choice, deps.deadline),
    );
  }
}

/**
 * As `apiServerFrom`, and with exec plugins and `proxy-url`. Those are left to @kubernetes/client-node,
 * which is loaded where the context has one of them.
 *
 * @param document the kubeconfig, parsed
 * @param read reads a file that it names; relative to it, as root, where absent
 * @throws {BerthError} what `apiServerFrom` and `apiServerByKubeConfig` throw
 */
export async function kubectlAccess(
  document: unknown,
  choice: ContextChoice,
  deadline: AbortSignal,
  read: ReadNamedFile = (path) => readTrusted(resolve(dirname(choice.file), path)),
): Promise<ApiServer> {
  try {
    return apiServerFrom(document, choice, read);
  } catch (thrown) {
    if (!needsKubectl(thrown)) throw thrown;
    const access = readContext(document, choice, read);
    const { apiServerByKubeConfig } = await import('./exec-plugin-access.ts');
    return apiServerByKubeConfig(access, choice.file, deadline);
  }
}
