import type { ClusterSettings } from '../../config/schema/settings.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import type { User } from '../../system/identity/nss.ts';
import { apiClient, type ApiClient } from '../../kube/api-client.ts';
import type { ApiServer } from '../../kube/api-server.ts';
import { checkUserRoles } from '../../kube/check-user-roles.ts';
import { namespaceOf, subjectOf } from '../../kube/objects/user-names.ts';
import { userObjects, type UserObjects } from '../../kube/objects/user-objects.ts';
import { type ReconcileResult, reconcileUser } from '../../kube/reconcile-user.ts';
import type { Logger } from '../../log.ts';
import { asInvoker } from '../../system/as-user.ts';
import type { Deadline } from '../../system/deadline.ts';
import { readTrusted } from '../../system/trusted-text.ts';
import { clusterOutcome, type ClusterOutcome } from './for-each-cluster.ts';
import { hookAccessAsInvoker, type HookAccessDeps } from './hook-access.ts';
import { tokenSetupCommand, tokenState } from './token-state.ts';
import { parsedJson } from '../../system/text/parsed-json.ts';
import { mappingOrEmpty } from '../../system/text/mapping.ts';

export interface BootstrapUserInput {
  readonly user: User;
  /** Epoch seconds. */
  readonly now: number;
  /** Clusters on which the user's namespace was seen before. */
  readonly known: readonly string[];
  readonly deadline: Deadline;
  readonly access: HookAccessDeps;
  readonly log: Logger;
}

/** The bootstrap of a user on one cluster while it runs. */
export interface RunningBootstrap {
  /** True as soon as the TLS connection is made, false if the bootstrap ends without one. */
  readonly connected: Promise<boolean>;
  /** Never rejects. */
  readonly outcome: Promise<ClusterOutcome<ReconcileResult>>;
}

/** Starts to create and update the user's objects on one cluster. */
export function bootstrapUser(
  cluster: ClusterSettings,
  { user, now, known, deadline, access, log }: BootstrapUserInput,
): RunningBootstrap {
  const connection = Promise.withResolvers<boolean>();
  const outcome = clusterOutcome(cluster, deadline, async () => {
    // Reads all of root's files in one section, because each change of the process's credentials is expensive.
    const { server, ...files } = await asInvoker(async () => ({
      server: await hookAccessAsInvoker(cluster, access),
      ...readDockerConfig(cluster, access.read),
    }));
    warnOfTokenExpiry(server.token, cluster, now, log);
    return bootstrapCluster({
      user,
      cluster,
      server,
      now,
      expectNew: !known.includes(cluster.name),
      deadline: deadline.signal,
      onConnected: () => connection.resolve(true),
      log,
      ...files,
    });
  });
  void outcome.then(() => connection.resolve(false));
  return { connected: connection.promise, outcome };
}

/** The contents of the site's registry credentials, if a pull secret is configured. */
export function readDockerConfig(
  { pullSecret }: ClusterSettings,
  read: (file: string) => string = readTrusted,
): { dockerConfig?: string } {
  if (pullSecret === undefined) return {};
  const file = pullSecret.dockerConfigFile;
  return { dockerConfig: checkDockerConfig(read(file), file) };
}

/**
 * Warns in the log of each login if the hook's token has expired or expires soon, by the token's own
 * claims, without a request. Codes `hook-token-expired`, `hook-token-ends-soon`.
 *
 * @param token the token in root's kubeconfig, which `berth token rotate` renews
 * @param now seconds since the epoch
 */
function warnOfTokenExpiry(
  token: string | undefined,
  cluster: Pick<ClusterSettings, 'name' | 'admin'>,
  now: number,
  log: Logger,
): void {
  const { name, admin } = cluster;
  const { state, expires = 0 } = tokenState(token, now);
  if (state !== 'expired' && state !== 'soon') return;
  const when = `${new Date(expires * 1000).toISOString().slice(0, 19)}Z`;
  const enable = 'systemctl enable --now berth-token-rotate.timer';
  const isOver = state === 'expired';
  const renew = isOver ? tokenSetupCommand(cluster) : `berth token rotate --cluster ${name}`;
  log.warning(
    `the hook's token in ${admin.file} ${isOver ? 'expired' : 'expires soon,'} at ${when}`,
    {
      cluster: name,
      code: isOver ? 'hook-token-expired' : 'hook-token-ends-soon',
      hint: `Run \`${renew}\`, then \`${enable}\`.`,
    },
  );
}

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
  readonly log: Logger;
}

/** Creates or updates the user's namespace and its objects on one cluster. */
async function bootstrapCluster(input: BootstrapInput): Promise<ReconcileResult> {
  const client = apiClient(input.server, input.deadline, input.onConnected);
  try {
    const { objects, refused } = await safeUserObjectsOn(client, input);
    for (const error of refused) input.log.error(error, { cluster: input.cluster.name });
    return await reconcileUser({
      client,
      user: input.user.name,
      objects,
      expectNew: input.expectNew,
      deadline: input.deadline,
    });
  } finally {
    client.close();
  }
}

type ObjectsInput = Pick<BootstrapInput, 'user' | 'cluster' | 'now' | 'dockerConfig'>;

/**
 * The user's objects, for a login and a dry run, without bindings to the roles of `user_roles` that a user must not have.
 * It sends no request if there are none.
 *
 * @returns with an error `user-role-not-bound` for each role that is left out
 */
export async function safeUserObjectsOn(
  client: ApiClient,
  input: ObjectsInput,
): Promise<{ readonly objects: UserObjects; readonly refused: readonly BerthError[] }> {
  const { cluster } = input;
  if (cluster.userRoles === undefined) return { objects: userObjectsOn(input), refused: [] };
  const { safe, refused } = await checkUserRoles(client, cluster);
  return {
    objects: userObjectsOn({ ...input, cluster: { ...cluster, userRoles: safe } }),
    refused,
  };
}

/** The user's objects with all that is configured, for `berth render` and `berth doctor`. */
export function userObjectsOn(input: ObjectsInput): UserObjects {
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
  // The parser's message would quote the secret.
  if ('auths' in mappingOrEmpty(parsedJson(text))) return text;
  throw new BerthError(
    'docker-config-invalid',
    `${file}: not a Docker config.json: the key "auths" is missing`,
    {
      fields: { file },
    },
  );
}
