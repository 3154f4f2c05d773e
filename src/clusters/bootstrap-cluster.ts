import type { ClusterSettings } from '../config/schema/settings.ts';
import { userObjects, type UserObjects } from '../kube/objects/user-objects.ts';
import { BerthError } from '../errors/berth-error.ts';
import { namespaceOf, subjectOf } from '../kube/objects/user-names.ts';
import type { User } from '../identity/nss.ts';
import { apiClient } from '../kube/api-client.ts';
import type { ApiServer } from '../kube/api-server.ts';
import { reconcileUser, type ReconcileResult } from '../kube/reconcile-user.ts';

export interface BootstrapInput {
  readonly user: User;
  readonly cluster: ClusterSettings;
  readonly server: ApiServer;
  /** Epoch seconds. */
  readonly now: number;
  readonly dockerConfig?: string;
  readonly expectNew: boolean;
  readonly deadline: AbortSignal;
  readonly onConnected?: () => void;
}

/** Creates or updates the user's namespace and its objects on one cluster. */
export async function bootstrapCluster(input: BootstrapInput): Promise<ReconcileResult> {
  const client = apiClient(input.server, input.deadline, input.onConnected);
  try {
    return await reconcileUser({
      client,
      user: input.user.name,
      objects: userObjectsOn(input),
      expectNew: input.expectNew,
      deadline: input.deadline,
    });
  } finally {
    client.close();
  }
}

/** The user's objects, for a login, a dry run and `berth render`. */
export function userObjectsOn(
  input: Pick<BootstrapInput, 'user' | 'cluster' | 'now' | 'dockerConfig'>,
): UserObjects {
  const { user, cluster, now, dockerConfig } = input;
  return userObjects({
    user,
    cluster,
    namespace: namespaceOf(cluster.namespacePrefix, user.name),
    subject: subjectOf(cluster, user.name),
    now,
    dockerConfig,
  });
}

/**
 * The site's registry credentials for a pull secret. Throws `docker-config-invalid` unless it is a JSON
 * object with `auths`, as the API server requires.
 */
export function checkDockerConfig(text: string, file: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && 'auths' in value) return text;
  } catch {
    // Reported below; the parser's message would quote the secret.
  }
  throw new BerthError(`${file}: this is not a docker config.json with "auths"`, {
    code: 'docker-config-invalid',
    fields: { file },
  });
}
