import { type ServiceAccountName, serviceAccountOf, whoAmI } from '../../kube/required-rights.ts';
import { realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseKubeconfig } from '../../credentials/kubeconfig/kubeconfig-document.ts';
import { replaceToken } from '../../credentials/kubeconfig/kubeconfig-token.ts';
import { decodeUnverifiedClaims } from '../../credentials/oidc/verify-token.ts';
import { asBerthError, BerthError, withHint } from '../../system/errors/berth-error.ts';
import type { Logger } from '../../log.ts';
import {
  apiServerFrom,
  entriesOfContext,
  type ContextChoice,
} from '../../kube/admin-kubeconfig.ts';
import { apiClient } from '../../kube/api-client.ts';
import type { ApiServer } from '../../kube/api-server.ts';
import { requestToken, type IssuedToken } from '../../kube/request-token.ts';
import type { Deadline } from '../../system/deadline.ts';
import { asMissingTokenError } from './hook-access.ts';
import { rewriteKubeconfig } from './rewrite-kubeconfig.ts';
import { readTrusted } from '../../system/trusted-text.ts';
import { tokenState } from './token-state.ts';
import { installedPath } from '../../system/program/installed-path.ts';

/** A token to be renewed. */
export interface RotateTarget {
  /** OnDemand's name of the cluster, or the file if it is not configured. */
  readonly cluster: string;
  readonly choice: ContextChoice;
  /** Creates a new token if the current one can no longer be used to request the next. */
  readonly setUp?: (account: ServiceAccountName) => Promise<RotatedToken>;
}

export interface RotateDeps {
  readonly lifetimeSeconds: number;
  /** The ServiceAccount of the new token, if the present token is another account's. */
  readonly serviceAccount?: ServiceAccountName;
  readonly deadline: Deadline;
  readonly log: Logger;
  /** Requests and tests the new token, and writes nothing. */
  readonly dryRun: boolean;
}

export interface RotatedToken {
  readonly cluster: string;
  readonly file: string;
  /** The user entry of the kubeconfig. */
  readonly user: string;
  readonly account: ServiceAccountName;
  /** Seconds since the epoch. */
  readonly oldExpires?: number;
  readonly expires: number;
}

export type RotateOutcome =
  { readonly rotated: RotatedToken } | { readonly cluster: string; readonly error: BerthError };

/** The present token of a target, and the API server that issues the next. */
interface Entry {
  readonly target: RotateTarget;
  readonly user: string;
  readonly server: ApiServer;
  readonly token: string;
}

/**
 * Renews the token of the hook's ServiceAccount for all targets in parallel. A failure does not affect
 * the others. A user entry that several clusters share is renewed once.
 */
export async function rotateTokens(
  targets: readonly RotateTarget[],
  deps: RotateDeps,
): Promise<RotateOutcome[]> {
  const byEntry = new Map<string, Entry>();
  const renewals = new Map<string, Promise<Omit<RotatedToken, 'cluster'>>>();
  return Promise.all(
    targets.map(async (target): Promise<RotateOutcome> => {
      const { cluster } = target;
      try {
        const entry = entryOf(target);
        const key = `${target.choice.file}\0${entry.user}`;
        const first = byEntry.get(key) ?? entry;
        byEntry.set(key, first);
        if (first.server.url !== entry.server.url)
          throw new BerthError(
            'hook-token-entry-shared',
            `clusters ${first.target.cluster} and ${entry.target.cluster} share the user entry ${first.user}, but a token is valid for one cluster`,
            {
              hint: `\`berth token setup --cluster ${entry.target.cluster} --from ADMIN_KUBECONFIG\` creates a separate entry for this cluster.`,
              fields: { file: first.target.choice.file },
            },
          );
        const renewal = renewals.get(key) ?? rotate(entry, deps);
        renewals.set(key, renewal);
        return { rotated: { cluster, ...(await renewal) } };
      } catch (thrown) {
        return { cluster, error: asBerthError(thrown, `renewing the token of cluster ${cluster}`) };
      }
    }),
  );
}

function entryOf(target: RotateTarget): Entry {
  try {
    return findEntry(target);
  } catch (thrown) {
    if (target.setUp === undefined) throw thrown;
    throw asMissingTokenError(thrown, target.cluster, target.choice.file);
  }
}

/**
 * @throws {BerthError} `hook-token-not-in-kubeconfig`, and what `apiServerFrom` throws
 */
function findEntry(target: RotateTarget): Entry {
  const { file } = target.choice;
  const { values } = parseKubeconfig(readTrusted(file), file);
  const { user } = entriesOfContext(values, target.choice);
  const fromFile = (path: string): string => readTrusted(resolve(dirname(file), path));
  const server = apiServerFrom(values, target.choice, fromFile);
  const users = (values.users ?? []) as readonly {
    readonly name?: string;
    readonly user?: { readonly token?: string; readonly tokenFile?: string };
  }[];
  const fields = users.find(({ name }) => name === user)?.user;
  // With a certificate or a token file too, the token is not the effective credential.
  const tokenCounts = server.clientCertificate === undefined && fields?.tokenFile === undefined;
  if (fields?.token !== undefined && tokenCounts)
    return { target, user, server, token: fields.token };
  const has =
    fields?.tokenFile !== undefined
      ? 'a token file'
      : server.clientCertificate !== undefined
        ? 'a client certificate'
        : 'other credentials';
  throw new BerthError(
    'hook-token-not-in-kubeconfig',
    `${file}: user ${user} has ${has}, not a token that can be renewed`,
    {
      hint: `Create a token of the hook's ServiceAccount: \`berth token setup --cluster ${target.cluster} --from ${file}\`.`,
      fields: { file, cluster: target.cluster },
    },
  );
}

async function rotate(entry: Entry, deps: RotateDeps): Promise<Omit<RotatedToken, 'cluster'>> {
  const { target, user, server } = entry;
  const account = accountOf(entry, deps.serviceAccount);
  const client = apiClient(server, deps.deadline.signal);
  let renewed: IssuedToken;
  try {
    renewed = await requestToken(client, {
      namespace: account.namespace,
      account: account.name,
      lifetimeSeconds: deps.lifetimeSeconds,
    });
  } catch (thrown) {
    const error = explained(thrown, target.cluster, account);
    if (target.setUp === undefined) throw error;
    return await target.setUp(account);
  } finally {
    client.close();
  }
  await checkToken({ ...server, token: renewed.token }, account, deps.deadline);
  await writeToken(entry, renewed.token, deps);
  const { expires: oldExpires } = tokenState(entry.token, 0);
  return {
    file: target.choice.file,
    user,
    account,
    oldExpires,
    expires: renewed.expiry,
  };
}

/** The account that the admin named, or that of the present token. */
function accountOf({ target, token, user }: Entry, named?: ServiceAccountName): ServiceAccountName {
  const account = named ?? serviceAccountOf(decodeUnverifiedClaims(token)?.sub);
  if (account !== undefined) return account;
  throw new BerthError(
    'hook-token-account-unknown',
    `${target.choice.file}: the token of user ${user} does not name its ServiceAccount`,
    { fields: { file: target.choice.file } },
  );
}

/**
 * Checks that a token works before it is written.
 *
 * @throws {BerthError} `hook-token-rejected`
 */
export async function checkToken(
  server: ApiServer,
  account: ServiceAccountName,
  deadline: Deadline,
): Promise<void> {
  const wanted = `system:serviceaccount:${account.namespace}:${account.name}`;
  const client = apiClient(server, deadline.signal);
  let reason: string;
  try {
    const username = await whoAmI(client);
    if (username === wanted) return;
    reason = `the API server authenticates it as ${username}`;
  } catch (thrown) {
    const error = asBerthError(thrown, 'using it');
    if (error.exit === 'temporary') throw error;
    reason = error.message;
  } finally {
    client.close();
  }
  throw new BerthError(
    'hook-token-rejected',
    `the new token of ${wanted} does not work: ${reason}`,
  );
}

async function writeToken({ target, user }: Entry, token: string, deps: RotateDeps): Promise<void> {
  // If it is a symlink, its target is replaced.
  const file = realpathSync(target.choice.file);
  await rewriteKubeconfig(file, deps, () => replaceToken(readTrusted(file), user, token, file));
}

/** Each creates an account and its right to renew its own token. */
const components: Readonly<Record<string, string>> = {
  'ondemand/berth-hook': installedPath('share/etc/kubernetes/hook'),
  'ondemand/berth-login': installedPath('share/etc/kubernetes/ssh-sessions'),
  'ondemand/berth-reaper': installedPath('share/etc/kubernetes/reaper'),
  'ondemand/berth-ldap-sync': installedPath('share/etc/kubernetes/ldap-sync'),
};

/** Replaces the hint of a failed TokenRequest with one about `berth token rotate`. */
export function explained(
  thrown: unknown,
  cluster: string,
  { namespace, name }: ServiceAccountName,
): unknown {
  if (!(thrown instanceof BerthError)) return thrown;
  const account = `${namespace}/${name}`;
  const component = components[account];
  const install =
    component === undefined ? 'let an admin create it' : `run \`kubectl apply -k ${component}\``;
  const setup = `\`berth token setup --cluster ${cluster} --from ADMIN_KUBECONFIG --service-account ${account}\` creates a new one.`;
  const hints: Readonly<Record<string, string>> = {
    'api-unauthorized': `The current token has expired or was revoked, so it cannot be used to request a new one: ${setup}`,
    'api-forbidden': `The current token has no right to create tokens for ${account} (create serviceaccounts/token): ${install}. Or: ${setup}`,
    'api-unexpected': `If the ServiceAccount ${account} does not exist, ${install}. Then: ${setup}`,
  };
  const hint = hints[thrown.code];
  if (hint === undefined) return thrown;
  return withHint(thrown, hint, thrown);
}
