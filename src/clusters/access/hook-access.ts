import { createHash } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import type { ClusterSettings } from '../../config/schema/settings.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { apiServerFrom, type ContextChoice } from '../../kube/admin-kubeconfig.ts';
import type { ApiServer } from '../../kube/api-server.ts';
import { asInvoker } from '../../system/as-user.ts';
import { fileIdentity, readConfigFile } from '../../system/config-files.ts';
import { readPrivateFile, writePrivateFile } from '../../system/private-file.ts';
import { decodeUtf8, readTrusted } from '../../system/trusted-text.ts';

export interface HookAccessDeps {
  /** Root's directory for cached state. */
  readonly stateDir: string;
  /** False for a dry run, which writes nothing there. */
  readonly remember: boolean;
  readonly deadline: AbortSignal;
  /** Parsed kubeconfigs of root, if clusters share them. */
  readonly documents?: Map<string, Promise<unknown>>;
  /** Reads the files that a kubeconfig names; `readTrusted` by default. */
  readonly read?: (file: string) => string;
  /** Number of configured clusters: only with one, `current-context` is a fallback. */
  readonly clusterCount: number;
  /** ID of the session for which the requests are made. */
  readonly session?: string;
}

/** The same, reading each file once: clusters may share files. */
export function cachingReader(): (file: string) => string {
  const texts = new Map<string, string>();
  return (file) => {
    const text = texts.get(file) ?? readTrusted(file);
    texts.set(file, text);
    return text;
  };
}

/**
 * The hook's access to a cluster: its token, in a kubeconfig on this host. It calls `asInvoker`, so call
 * it outside of such a section.
 *
 * @throws {BerthError} `hook-token-missing`, and what `apiServerFrom` and reading the file throw
 */
export function hookAccess(cluster: ClusterSettings, deps: HookAccessDeps): Promise<ApiServer> {
  return asInvoker(() => hookAccessAsInvoker(cluster, deps));
}

/** The same, within a section of `asInvoker`. */
export async function hookAccessAsInvoker(
  cluster: ClusterSettings,
  deps: HookAccessDeps,
): Promise<ApiServer> {
  try {
    return await fromKubeconfigFile(cluster, deps);
  } catch (thrown) {
    throw cluster.admin.kind === 'cluster-api'
      ? asMissingTokenError(thrown, cluster.name, cluster.admin.file)
      : thrown;
  }
}

/**
 * Name of the entries that `berth token setup` makes in root's kubeconfig. A cluster that was discovered has a context
 * `berth-hook@NAMESPACE/CLUSTER`: the other entries have its name, so that no token meets another Cluster of this name.
 */
export function hookEntryName({ name, admin }: Pick<ClusterSettings, 'name' | 'admin'>): string {
  const { context } = admin;
  const isDiscovered = admin.kind === 'cluster-api' && context?.startsWith('berth-hook@');
  return isDiscovered === true && context !== undefined ? context : `berth-hook@${name}`;
}

/**
 * Which context of root's kubeconfig to use; `berth token rotate` writes into its user entry. For a
 * cluster of Cluster API it is only the one that `berth token setup` made: the same file may have an entry
 * of a cluster admin for the same address.
 */
export function contextChoice(
  cluster: Pick<ClusterSettings, 'name' | 'admin' | 'server'>,
  clusterCount: number,
): ContextChoice {
  const { admin, server } = cluster;
  const context =
    admin.context ?? (admin.kind === 'cluster-api' ? hookEntryName(cluster) : undefined);
  return {
    file: admin.file,
    endpoint: server.endpoint,
    onlyCluster: clusterCount === 1,
    context,
  };
}

async function fromKubeconfigFile(
  cluster: ClusterSettings,
  deps: HookAccessDeps,
): Promise<ApiServer> {
  const { file } = cluster.admin;
  const reading = deps.documents?.get(file) ?? readAdminKubeconfig(file, deps);
  deps.documents?.set(file, reading);
  const document = await reading;
  const { read = readTrusted } = deps;
  const choice = contextChoice(cluster, deps.clusterCount);
  const server = apiServerFrom(document, choice, (path) => read(resolve(dirname(file), path)));
  return { ...server, session: deps.session };
}

/** For a cluster of Cluster API: reports that the hook's own entry is missing. */
export function asMissingTokenError(thrown: unknown, name: string, file: string): unknown {
  const codes = ['config-missing', 'config-empty', 'admin-kubeconfig-context'];
  if (!(thrown instanceof BerthError) || !codes.includes(thrown.code)) return thrown;
  return new BerthError(
    'hook-token-missing',
    `${file} has no token of the hook for cluster ${name}`,
    {
      hint: `Run \`berth token setup --cluster ${name}\`, then \`systemctl enable --now berth-token-rotate.timer\`.`,
      fields: { file, cluster: name },
      cause: thrown,
    },
  );
}

interface Kept {
  readonly file: string;
  readonly identity: string;
  readonly document: unknown;
}

/** In bytes; a kubeconfig of thousands of clusters has a few MiB. */
const largest = 16 * 1024 * 1024;

/**
 * Root's kubeconfig as a plain value. Parsing YAML takes longer than all requests of a login, so the
 * value is cached as JSON, mode 0600, as long as the file is unchanged (`fileIdentity`, which covers
 * contents, owner and mode).
 *
 * @param remember False for a dry run, which writes nothing.
 * @throws {BerthError} `config-…` of `readConfigFile`, `config-not-utf8`, `config-yaml-invalid`
 */
async function readAdminKubeconfig(
  file: string,
  { stateDir, remember }: { readonly stateDir: string; readonly remember: boolean },
): Promise<unknown> {
  const name = createHash('sha256').update(file).digest('hex').slice(0, 32);
  const path = join(stateDir, 'kubeconfigs', `${name}.json`);
  const identity = fileIdentity(file);
  const kept = readKept(path);
  if (kept?.file === file && kept.identity === identity) return kept.document;

  const read = readConfigFile(file, process.geteuid?.() ?? 0);
  const { parseYaml } = await import('../../config/schema/yaml-document.ts');
  const document = parseYaml(decodeUtf8(read), file, 'kubectl');
  if (remember) keep(path, { file, identity: read.identity, document });
  return document;
}

function readKept(path: string): Kept | undefined {
  try {
    const text = readPrivateFile(path, process.geteuid?.() ?? 0, largest);
    return text === undefined ? undefined : (JSON.parse(text) as Kept);
  } catch {
    // Not ours or incomplete: the kubeconfig is read, and the copy replaced.
    return undefined;
  }
}

function keep(path: string, kept: Kept): void {
  try {
    writePrivateFile(path, JSON.stringify(kept));
  } catch {
    // A full or read-only state directory slows down the next login; settings-cache reports it.
  }
}
