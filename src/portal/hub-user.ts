import { bootstrapUser } from '../clusters/access/bootstrap-user.ts';
import { readLoginRecord } from '../clusters/access/login-record.ts';
import { loadSiteSettings, type SiteSettingsFiles } from '../config/load/load-site-settings.ts';
import type { SiteSettings } from '../config/schema/settings.ts';
import { BerthError } from '../system/errors/berth-error.ts';
import { lookupUser } from '../system/identity/nss.ts';
import { groupFile, passwdFile } from '../system/identity/passwd-file.ts';
import { namespaceOf } from '../kube/objects/user-names.ts';
import type { Logger } from '../log.ts';
import { deadlineIn } from '../system/deadline.ts';
import { groupNamesById, groupNamesOf } from '../system/group-names.ts';
import { parsedJson } from '../system/text/parsed-json.ts';
import { mappingOrEmpty } from '../system/text/mapping.ts';

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
  const { user, cluster } = mappingOrEmpty(parsedJson(line));
  if (typeof user === 'string' && (cluster === undefined || typeof cluster === 'string'))
    return { user, cluster };
  throw new BerthError(
    'hub-request-invalid',
    'the request is not {"user": NAME} or {"user": NAME, "cluster": NAME}',
  );
}

/**
 * Looks the account up and, if the request names a cluster, makes the account's namespace there as a login at the portal
 * does. Whoever may ask can have objects made for any account, and gets no credentials.
 *
 * @throws {BerthError} those of `lookupUser`, `hub-user-not-allowed`, `cluster-unknown`, `group-names-missing`, and those of the bootstrap
 */
export async function hubUser(
  request: HubRequest,
  files: SiteSettingsFiles,
  deps: { readonly log: Logger; readonly now: () => number },
): Promise<HubAnswer> {
  const { settings, broken } = await loadSiteSettings(files);
  const user = lookupUser(request.user, settings);
  const { name, uid, gid, groups, home } = user;
  const { cluster: asked } = request;
  const cluster = settings.clusters.find((one) => one.name === asked);
  if (cluster === undefined && asked !== undefined)
    throw (
      broken.find((one) => one.cluster === asked)?.error ??
      new BerthError(
        'cluster-unknown',
        `no cluster ${JSON.stringify(asked.slice(0, 80))} is configured`,
      )
    );
  const groupNames = groupNamesOf(name);
  const allowed = cluster === undefined ? groupsOfHubs(settings) : cluster.jupyterhub?.groups;
  if (allowed !== undefined && !groupNames.some((group) => allowed.includes(group)))
    throw new BerthError(
      'hub-user-not-allowed',
      `${name} is in none of the groups whose members may use this hub`,
    );
  const account = {
    user: name,
    uid,
    gid,
    gids: groups,
    groups: groupNames,
    home,
    passwd: passwdFile(user),
    group: groupFile(user, await groupNamesById(groups)),
  };
  if (cluster === undefined) return account;

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

/** Whom a question without a cluster may be about: the members of what any hub of the site is for. */
function groupsOfHubs({ clusters, hubGroups }: SiteSettings): readonly string[] | undefined {
  const hubs = clusters.flatMap(({ jupyterhub }) => (jupyterhub ? [jupyterhub] : []));
  if (hubs.length === 0) return hubGroups;
  const lists = hubs.flatMap(({ groups }) => (groups === undefined ? [] : [groups]));
  return lists.length < hubs.length ? undefined : lists.flat();
}
