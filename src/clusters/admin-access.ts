import { dirname, resolve } from 'node:path';
import type { ClusterSettings } from '../config/settings.ts';
import { BerthError } from '../errors.ts';
import { apiServerFrom, type ContextChoice } from '../reconcile/admin-kubeconfig.ts';
import type { ApiServer } from '../reconcile/api-server.ts';
import { asOurselves } from '../system/as-user.ts';
import { readConfigFile } from '../system/config-files.ts';
import { readAdminKubeconfig } from './admin-kubeconfig-file.ts';

export interface AccessDeps {
  /** Root's folder for what a login need not work out again. */
  readonly stateDir: string;
  /** False for a dry run, which leaves no trace there. */
  readonly remember: boolean;
  readonly deadline: AbortSignal;
  /** Root's kubeconfigs as they were read, where clusters share them. */
  readonly documents?: Map<string, Promise<unknown>>;
  /** Reads what a kubeconfig names; `readTrusted` where not said. */
  readonly read?: (file: string) => string;
  /** How many clusters are configured: with one, `current-context` may decide. */
  readonly clusterCount: number;
}

/** Reads a file as root, refusing one that others could have written. */
export function readTrusted(file: string): string {
  return readConfigFile(file, process.geteuid?.() ?? 0).bytes.toString();
}

/** The same, each file once: for a login over many clusters that share their files. */
export function readingOnce(): (file: string) => string {
  const texts = new Map<string, string>();
  return (file) => {
    const text = texts.get(file) ?? readTrusted(file);
    texts.set(file, text);
    return text;
  };
}

/**
 * The hook's way into a cluster: its own token, in a kubeconfig on this host. Takes our own turn
 * (`asOurselves`), so call it outside of one.
 *
 * @throws {BerthError} `hook-token-missing`, and what `apiServerFrom` and reading the file throw
 */
export function adminAccess(cluster: ClusterSettings, deps: AccessDeps): Promise<ApiServer> {
  return asOurselves(() => localAccess(cluster, deps));
}

/** The same for who has our own turn already. */
export async function localAccess(cluster: ClusterSettings, deps: AccessDeps): Promise<ApiServer> {
  try {
    return await fromKubeconfigFile(cluster, deps);
  } catch (thrown) {
    throw cluster.admin.kind === 'cluster-api'
      ? withoutToken(thrown, cluster.name, cluster.admin.file)
      : thrown;
  }
}

/** The name of the entries that `berth token setup` makes in root's kubeconfig. */
export function hookEntry({ name }: Pick<ClusterSettings, 'name'>): string {
  return `berth-hook@${name}`;
}

/**
 * What to look for in root's kubeconfig; `berth token rotate` writes into the entry it finds. For a
 * cluster of Cluster API that is what `berth token setup` made, and nothing else that leads there: an
 * admin of the fleet may well have a cluster-admin's entry in the same file.
 */
export function contextChoice(
  cluster: Pick<ClusterSettings, 'name' | 'admin' | 'server'>,
  clusterCount: number,
): ContextChoice {
  const { admin, server } = cluster;
  const context = admin.context ?? (admin.kind === 'cluster-api' ? hookEntry(cluster) : undefined);
  return {
    file: admin.file,
    endpoint: server.endpoint,
    onlyCluster: clusterCount === 1,
    ...(context === undefined ? {} : { context }),
  };
}

async function fromKubeconfigFile(cluster: ClusterSettings, deps: AccessDeps): Promise<ApiServer> {
  const { file } = cluster.admin;
  const reading = deps.documents?.get(file) ?? readAdminKubeconfig(file, deps);
  deps.documents?.set(file, reading);
  const document = await reading;
  const { read = readTrusted } = deps;
  const choice = contextChoice(cluster, deps.clusterCount);
  return apiServerFrom(document, choice, (path) => read(resolve(dirname(file), path)));
}

/** Of Cluster API's clusters: what else is in the file counts for nothing. */
export function withoutToken(thrown: unknown, name: string, file: string): unknown {
  const codes = ['config-missing', 'config-empty', 'admin-kubeconfig-context'];
  if (!(thrown instanceof BerthError) || !codes.includes(thrown.code)) return thrown;
  return new BerthError(`${file} has no token of the hook's for cluster ${name}`, {
    code: 'hook-token-missing',
    exit: 'config',
    hint: `Run: berth token setup --cluster ${name}; and: systemctl enable --now berth-token-rotate.timer`,
    fields: { file, cluster: name },
    cause: thrown,
  });
}
