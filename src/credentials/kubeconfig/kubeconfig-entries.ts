import { createHash } from 'node:crypto';
import { defaultKubeconfig } from '../../config/schema/kubeconfig-path.ts';
import type { ClusterSettings, JsonObject, JsonValue } from '../../config/schema/settings.ts';
import { kubeconfigUserOf, namespaceOf } from '../../kube/objects/user-names.ts';

/** One named entry of a kubeconfig list. */
export interface NamedEntry {
  readonly name: string;
  /** The fields that are set; others are the user's and stay, except for `overridingFields`. */
  readonly value: JsonObject;
}

/** What one cluster needs in a user's kubeconfig. */
export interface KubeconfigEntries {
  readonly user?: NamedEntry;
  readonly cluster?: NamedEntry;
  readonly context?: NamedEntry;
  /** Becomes `current-context` if the file has none. */
  readonly currentContextIfUnset?: string;
}

/** The change of an existing entry. */
export interface EntryChange {
  readonly set: JsonObject;
  readonly remove: readonly string[];
  /** The whole value after the change. */
  readonly value: JsonObject;
}

/** The three lists of a kubeconfig and the key under which each item keeps its value. */
export const kubeconfigLists = {
  clusters: 'cluster',
  contexts: 'context',
  users: 'user',
} as const;

export type ListKey = keyof typeof kubeconfigLists;

/** Credentials of a user entry (client-go, `clientcmd/api/v1`, `AuthInfo`). */
const credentialFields = [
  'client-certificate',
  'client-certificate-data',
  'client-key',
  'client-key-data',
  'token',
  'tokenFile',
  'username',
  'password',
  'auth-provider',
  'exec',
] as const;

/**
 * The fields to remove when `value` is set, because they would override it.
 *
 * For a user: every other credential; client-go ignores the exec plugin if there is a static token.
 * Impersonation (`as`, `as-groups`, …) and `extensions` stay. For a cluster: the fields that
 * `kubectl config set-cluster` clears for `--server` and `--certificate-authority`.
 */
export function overridingFields(list: ListKey, value: JsonObject): readonly string[] {
  if (list === 'users') return credentialFields.filter((field) => !(field in value));
  if (list === 'contexts') return [];
  return [
    ...('server' in value && !('tls-server-name' in value) ? ['tls-server-name'] : []),
    ...('certificate-authority' in value
      ? ['certificate-authority-data', 'insecure-skip-tls-verify']
      : []),
  ];
}

/**
 * The user entry that calls the credential plugin.
 *
 * @param command absolute path of `shell/kube-credential`
 */
export function execUser(command: string, args: readonly string[] = []): JsonObject {
  return {
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1',
      command,
      ...(args.length > 0 && { args }),
      interactiveMode: 'Never',
      provideClusterInfo: true,
    },
  };
}

/** The cluster entry that OnDemand's dashboard makes with `kubectl config set-cluster`. */
export function clusterEntry(server: {
  readonly endpoint: string;
  readonly caFile?: string;
}): JsonObject {
  return {
    ...(server.caFile !== undefined && { 'certificate-authority': server.caFile }),
    server: server.endpoint,
  };
}

/**
 * Digest of a file and the wanted entries, SHA-256 in hex. An equal digest means that nothing changed,
 * without parsing YAML, which would be the largest part of a later login. `updateKubeconfig` returns
 * it and takes it the next time.
 */
export function kubeconfigDigest(
  contents: Uint8Array,
  wanted: readonly KubeconfigEntries[],
): string {
  return createHash('sha256')
    .update(JSON.stringify(wanted))
    .update('\0')
    .update(contents)
    .digest('hex');
}

/**
 * Whether two values are equal to kubectl, which writes `args: null` and `env: null` into every
 * exec entry that it rewrites.
 */
export function equalForKubectl(
  left: JsonValue | undefined,
  right: JsonValue | undefined,
): boolean {
  return JSON.stringify(canonical(left)) === JSON.stringify(canonical(right));
}

function canonical(value: JsonValue | undefined): JsonValue {
  if (value === undefined || value === null) return null;
  if (isList(value)) return value.length === 0 ? null : value.map(canonical);
  if (typeof value !== 'object') return value;
  return Object.entries(value)
    .map(([key, child]): readonly [string, JsonValue] => [key, canonical(child)])
    .filter(([, child]) => child !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

export function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** The wanted entries of one list; of several with one name, the last. */
export function entriesOf(list: ListKey, wanted: readonly KubeconfigEntries[]): NamedEntry[] {
  const entries = wanted.flatMap((entry) => entry[kubeconfigLists[list]] ?? []);
  return [...new Map(entries.map((entry) => [entry.name, entry])).values()];
}

/**
 * The entries of one cluster in the user's kubeconfig: the user entry with the credential, and cluster and
 * context as OnDemand's dashboard writes them for auth `oidc`.
 */
export function wantedKubeconfigEntries(
  cluster: ClusterSettings,
  username: string,
  userEntry: JsonObject,
): KubeconfigEntries {
  const { kubeconfig, namespacePrefix, server } = cluster;
  const user = kubeconfigUserOf(cluster, username);
  return {
    user: { name: user, value: userEntry },
    cluster: { name: kubeconfig.cluster, value: clusterEntry(server) },
    context: {
      name: kubeconfig.context,
      value: {
        cluster: kubeconfig.cluster,
        namespace: namespaceOf(namespacePrefix, username),
        user,
      },
    },
    currentContextIfUnset: kubeconfig.context,
  };
}

/** Groups by the path of the kubeconfig that OnDemand uses for each cluster. */
export function groupByKubeconfig<T extends { readonly cluster: ClusterSettings }>(
  all: readonly T[],
): ReadonlyMap<string, readonly T[]> {
  return Map.groupBy(all, ({ cluster }) => cluster.kubeconfig.file ?? defaultKubeconfig);
}
