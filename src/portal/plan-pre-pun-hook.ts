import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterSettings, JsonObject, SiteSettings } from '../config/schema/settings.ts';
import { unknownCluster } from '../config/schema/config-error.ts';
import { credentialCachePath } from '../credentials/credential-cache.ts';
import { inHome } from '../credentials/root-in-home.ts';
import {
  execUser,
  groupByKubeconfig,
  wantedKubeconfigEntries,
} from '../credentials/kubeconfig/kubeconfig-entries.ts';
import { kubeconfigTooLarge } from '../credentials/kubeconfig/read-kubeconfig.ts';
import { planKubeconfig } from '../credentials/kubeconfig/update-kubeconfig.ts';
import { asBerthError, BerthError } from '../system/errors/berth-error.ts';
import { lookupUser, type User } from '../system/identity/nss.ts';
import { withApiClient } from '../kube/api-client.ts';
import { planUser, type PlannedChange } from '../kube/plan-user.ts';
import { asInvoker, asUser } from '../system/as-user.ts';
import { deadlineIn, type Deadline } from '../system/deadline.ts';
import { inReadingProcess } from '../system/reading-process.ts';
import { hookAccess } from '../clusters/access/hook-access.ts';
import { readDockerConfig, safeUserObjectsOn } from '../clusters/access/bootstrap-user.ts';
import { beforeDeadline, forEachCluster } from '../clusters/access/for-each-cluster.ts';
import { loadSiteSettings, type SiteSettingsFiles } from '../config/load/load-site-settings.ts';
import type { redactSecrets } from './redact-secrets.ts';

export interface PlanInput {
  readonly username: string;
  readonly files: SiteSettingsFiles;
  /** Plan only this cluster. */
  readonly cluster?: string;
  /** Seconds since the epoch. */
  readonly now: number;
}

/** The part of a plan for one cluster, or for the user's files. */
export interface PlanSection {
  /** `cluster prod`, `files of alice`. */
  readonly title: string;
  readonly changes: readonly PlannedChange[];
  /** Why this part could not be planned. The hook would fail with the same error. */
  readonly error?: BerthError;
}

/**
 * What the hook would change for this user now, on every cluster and in the user's home. Planning changes
 * nothing and uses no token, and the plan contains no secret.
 *
 * @throws {BerthError} if the site's configuration is invalid or the account is unknown; `cluster-unknown`
 */
export async function planPrePunHook(input: PlanInput): Promise<readonly PlanSection[]> {
  const { settings, broken } = await loadSiteSettings(input.files, { cache: 'read' });
  const user = lookupUser(input.username, settings);
  const deadline = deadlineIn(settings.deadlineMs);
  const chosen = settings.clusters.filter(
    ({ name }) => input.cluster === undefined || name === input.cluster,
  );
  const faulty = broken.filter(
    ({ cluster }) => input.cluster === undefined || cluster === input.cluster,
  );
  if (chosen.length + faulty.length === 0)
    throw input.cluster === undefined
      ? new BerthError('cluster-unknown', 'no kubernetes cluster is configured', {
          exit: 'config',
          hint: 'Put a file with `adapter: kubernetes` into clusters.d.',
        })
      : unknownCluster(
          input.cluster,
          settings.clusters.map(({ name }) => name),
        );
  const outcomes = await Promise.all(
    forEachCluster(chosen, deadline, (cluster) =>
      planCluster(cluster, user, settings, input.now, deadline),
    ),
  );
  return [
    ...faulty.map(({ cluster, error }) => ({ title: `cluster ${cluster}`, changes: [], error })),
    ...outcomes.flatMap(({ cluster: { name }, result, error }) => [
      { title: `cluster ${name}`, changes: result?.changes ?? [], error },
      ...(result?.refused ?? []).map((refused) => ({
        title: `cluster ${name}`,
        changes: [],
        error: refused,
      })),
    ]),
    ...(await planFiles(chosen, user, settings, deadline)),
  ];
}

async function planCluster(
  cluster: ClusterSettings,
  user: User,
  { stateDir, clusters }: SiteSettings,
  now: number,
  deadline: Deadline,
): Promise<{
  readonly changes: readonly PlannedChange[];
  readonly refused: readonly BerthError[];
}> {
  const docker = await asInvoker(() => readDockerConfig(cluster));
  const server = await hookAccess(cluster, {
    stateDir,
    remember: false,
    deadline: deadline.signal,
    clusterCount: clusters.length,
  });
  return withApiClient(server, deadline.signal, async (client) => {
    const wanted = { user, cluster, now: Math.floor(now), ...docker };
    const { objects, refused } = await safeUserObjectsOn(client, wanted);
    return { changes: await planUser({ client, user: user.name, objects }), refused };
  });
}

async function planFiles(
  clusters: readonly ClusterSettings[],
  user: User,
  settings: SiteSettings,
  deadline: Deadline,
): Promise<PlanSection[]> {
  const ours = clusters.filter(({ credentials }) => credentials.mode !== 'none');
  if (ours.length === 0) return [];
  const title = `files of ${user.name}`;
  const sections: PlanSection[] = [];
  for (const [file, its] of groupByKubeconfig(ours.map((cluster) => ({ cluster })))) {
    const clusters = its.map(({ cluster }) => cluster);
    try {
      const changes = await inHome(user, deadline, () =>
        planFilesOf(clusters, file, user, settings, deadline),
      );
      sections.push({ title, changes });
    } catch (thrown) {
      sections.push({ title, changes: [], error: asBerthError(thrown, title) });
    }
  }
  return sections;
}

/** One kubeconfig, and the credentials of the clusters in it. */
async function planFilesOf(
  clusters: readonly ClusterSettings[],
  file: string,
  user: User,
  settings: SiteSettings,
  deadline: Deadline,
): Promise<PlannedChange[]> {
  const entries = clusters.map((cluster) =>
    wantedKubeconfigEntries(cluster, user.name, userEntry(cluster, settings)),
  );
  const plan = await beforeDeadline(planKubeconfig(user, entries, file), deadline);
  const [before, after] = await inReadingProcess<typeof redactSecrets>(
    'redactSecrets',
    [plan.text, plan.newText],
    (why) => kubeconfigTooLarge(plan.path, why),
  );
  const action = !plan.changed ? 'none' : plan.text === '' ? 'create' : 'update';
  const kubeconfig: PlannedChange = {
    what: plan.path,
    action,
    ...(action === 'update' && { before }),
    after,
  };
  const caches = clusters.filter(({ credentials }) => credentials.mode !== 'legacy');
  return [
    kubeconfig,
    ...(await Promise.all(caches.map((c) => beforeDeadline(planCache(c, user), deadline)))),
  ];
}

/** Each run of the hook replaces the credential, so only its creation counts as a change. */
async function planCache(cluster: ClusterSettings, user: User): Promise<PlannedChange> {
  const what = join(user.home, credentialCachePath(cluster.server.endpoint));
  const there = await asUser(user, () =>
    stat(what).then(
      () => true,
      () => false,
    ),
  );
  const after = `*** (credential for ${cluster.name}, mode 0600)\n`;
  return there ? { what, action: 'none', before: after, after } : { what, action: 'create', after };
}

/** The user entry, with placeholders for the tokens, which a plan does not have. */
function userEntry({ credentials }: ClusterSettings, settings: SiteSettings): JsonObject {
  if (credentials.mode !== 'legacy') return execUser(settings.kubeCredentialCommand);
  const { issuer, clientId } = credentials.oidc;
  return {
    'auth-provider': {
      name: 'oidc',
      config: {
        'idp-issuer-url': issuer,
        'client-id': clientId,
        'client-secret': '***',
        'refresh-token': '***',
        'id-token': '***',
      },
    },
  };
}
