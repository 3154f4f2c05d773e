import { bootstrapUser } from '../clusters/bootstrap-user.ts';
import { readLoginRecord } from '../clusters/login-record.ts';
import { loadSiteSettings, type SiteSettingsFiles } from '../config/load/load-site-settings.ts';
import { BerthError } from '../errors/berth-error.ts';
import { lookupUser } from '../identity/nss.ts';
import { groupFile, passwdFile } from '../identity/passwd-file.ts';
import { namespaceOf } from '../kube/objects/user-names.ts';
import type { Logger } from '../log.ts';
import { deadlineIn } from '../system/deadline.ts';
import { groupNamesById, groupNamesOf } from '../system/group-names.ts';

/** What a hub asks: who this account is, and, with a cluster, to make its namespace there. */
export interface HubRequest {
  readonly user: string;
  /** OnDemand's name of a cluster. */
  readonly cluster?: string;
}

/** What etc/jupyterhub reads (account.py). Nothing in it is a secret. */
export interface HubAnswer {
  readonly user: string;
  readonly uid: number;
  readonly gid: number;
  readonly gids: readonly number[];
  /** Names of all groups. */
  readonly groups: readonly string[];
  readonly home: string;
  /** Contents of /etc/passwd and /etc/group for a pod. */
  readonly passwd: string;
  readonly group: string;
  /** With a cluster. */
  readonly namespace?: string;
}

/** @throws {BerthError} `hub-request-invalid` */
export function parseHubRequest(line: string): HubRequest {
  const request = parsed(line);
  if (
    typeof request?.user === 'string' &&
    (request.cluster === undefined || typeof request.cluster === 'string')
  )
    return { user: request.user, cluster: request.cluster };
  throw new BerthError('the request is not {"user": NAME} or {"user": NAME, "cluster": NAME}', {
    code: 'hub-request-invalid',
  });
}

function parsed(line: string): Partial<Record<keyof HubRequest, unknown>> | null {
  try {
    return JSON.parse(line) as Partial<HubRequest> | null;
  } catch {
    return null;
  }
}

/**
 * Looks the account up and, if the request names a cluster, makes the account's namespace there as a login at the portal
 * does. Whoever may ask can have objects made for any account, and gets no credentials.
 *
 * @throws {BerthError} those of `lookupUser`, `cluster-unknown`, `group-names-missing`, and those of the bootstrap
 */
export async function hubUser(
  request: HubRequest,
  files: SiteSettingsFiles,
  deps: { readonly log: Logger; readonly now: () => number },
): Promise<HubAnswer> {
  const { settings, broken } = await loadSiteSettings(files);
  const user = lookupUser(request.user, settings);
  const { name, uid, gid, groups, home } = user;
  const account = {
    ...{ user: name, uid, gid, gids: groups, groups: groupNamesOf(name), home },
    ...{ passwd: passwdFile(user), group: groupFile(user, await groupNamesById(groups)) },
  };
  if (request.cluster === undefined) return account;

  const cluster = settings.clusters.find((one) => one.name === request.cluster);
  if (cluster === undefined)
    throw (
      broken.find((one) => one.cluster === request.cluster)?.error ??
      new BerthError(`no cluster ${JSON.stringify(request.cluster.slice(0, 80))} is configured`, {
        code: 'cluster-unknown',
      })
    );
  const { stateDir, clusters, deadlineMs } = settings;
  const deadline = deadlineIn(deadlineMs);
  const { error } = await bootstrapUser(cluster, {
    user,
    now: deps.now(),
    known: readLoginRecord(stateDir, name).clusters,
    deadline,
    access: {
      stateDir,
      remember: true,
      deadline: deadline.signal,
      clusterCount: clusters.length,
    },
    log: deps.log,
  }).outcome;
  if (error !== undefined) throw error;
  return { ...account, namespace: namespaceOf(cluster.namespacePrefix, name) };
}
