import { existsSync } from 'node:fs';
import type { ClusterSettings } from '../../config/schema/settings.ts';
import type { UserObjects } from '../../kube/objects/user-objects.ts';
import { asBerthError, BerthError, messageOf } from '../../system/errors/berth-error.ts';
import type { User } from '../../system/identity/nss.ts';
import { withApiClient, type ApiClient } from '../../kube/api-client.ts';
import { apiError } from '../../kube/api-errors.ts';
import { needsKubectl } from '../../kube/admin-kubeconfig.ts';
import type { ApiServer } from '../../kube/api-server.ts';
import { whoAmI } from '../../kube/required-rights.ts';
import { probeServer } from '../../system/probe-server.ts';
import { hookAccess } from '../../clusters/access/hook-access.ts';
import { adminCommandAccess } from '../../clusters/access/admin-command-access.ts';
import { admissionFinding, guardFinding } from './admission-check.ts';
import { userObjectsOn } from '../../clusters/access/bootstrap-user.ts';
import {
  type CheckId,
  type CheckResult,
  failed,
  failedWith,
  type Finding,
  ok,
  skipped,
  warning,
} from '../../system/errors/check-result.ts';
import { type Check, runCheck } from '../../system/run-check.ts';
import { kubeconfigHint } from './host-checks.ts';
import { validatingPolicySince, minorVersion } from '../../kube/admission/policy-versions.ts';
import {
  excessRightsFinding,
  rightsFinding,
  rolesFinding,
  sessionRightsFinding,
} from './rights-checks.ts';
import { certificateFinding, clockFinding } from './issuer-checks.ts';
import { hookTokenFinding } from './cluster-api-check.ts';
import { objectCountsFinding } from './object-counts-check.ts';
import { namespaceFinding, objectsFinding } from './objects-check.ts';
import type { OndemandKeys } from './ondemand-keys.ts';
import { kubectlFinding, type KubectlRuns, mountsFinding } from './ondemand-on-cluster.ts';

export interface ClusterCheckInput {
  readonly cluster: ClusterSettings;
  readonly clusterCount: number;
  readonly stateDir: string;
  /** On a portal: what OnDemand reads of the cluster. */
  readonly ondemand?: OndemandKeys | undefined;
  /** The user to check for; without one, objects of an invented user are used. */
  readonly user?: User;
  /** Seconds since the epoch. */
  readonly now: number;
  /** For each check, in milliseconds. */
  readonly timeoutMs: number;
  /** What clusters have in common is read or run once. */
  readonly common: CommonReads;
}

/** Root's kubeconfigs as they were parsed, by path, and what kubectls have printed. */
export interface CommonReads {
  readonly documents: Map<string, Promise<unknown>>;
  readonly kubectls: KubectlRuns;
}

/** An invented user: the hook needs the same rights for all. */
const anybody: User = {
  name: 'berth-doctor',
  uid: 1000,
  gid: 1000,
  groups: [1000],
  home: '/',
  shell: '/bin/sh',
};

const dependent = [
  'api-version',
  'rights',
  'excess-rights',
  'cluster-roles',
  'objects',
  'object-counts',
  'guard',
  'admission',
  'ssh-sessions',
  'user-namespace',
  'ondemand-kubectl',
  'ondemand-mounts',
] as const;
const probed = ['api-certificate', 'api-clock'] as const;

/**
 * All checks of one cluster. Checks that need credentials or an answer of the API server are skipped,
 * with the reason, where these are missing.
 */
export async function checkCluster(input: ClusterCheckInput): Promise<CheckResult[]> {
  const { cluster, timeoutMs } = input;
  const run = (id: CheckId, work: Check): Promise<CheckResult> =>
    runCheck(id, work, timeoutMs, cluster.name);
  const skip = (ids: readonly CheckId[], why: string): CheckResult[] =>
    ids
      .filter((id) => id !== 'user-namespace' || input.user !== undefined)
      .filter((id) => !id.startsWith('ondemand-') || input.ondemand !== undefined)
      .filter((id) => id !== 'ssh-sessions' || cluster.sshSessions !== undefined)
      .map((id) => ({ id, cluster: cluster.name, ...skipped(why) }));

  let server: ApiServer | undefined;
  const access = await run('admin-credentials', async (deadline) => {
    const { stateDir, clusterCount, common } = input;
    const { documents } = common;
    const deps = { stateDir, clusterCount, documents, remember: false, deadline };
    try {
      server = await hookAccess(cluster, deps);
    } catch (thrown) {
      // The hook cannot use it, but the other checks can.
      if (needsKubectl(thrown))
        server = await adminCommandAccess(cluster, deps).catch(() => undefined);
      const { file } = cluster.admin;
      if (thrown instanceof BerthError && thrown.code === 'config-missing' && !existsSync(file))
        return failed(thrown.message, kubeconfigHint(cluster));
      throw thrown;
    }
    return ok(`${cluster.admin.file} has credentials for ${server.url}`);
  });
  if (server === undefined)
    return [
      access,
      ...skip(
        ['admin-token', 'api', ...probed, ...dependent],
        'there are no credentials for this cluster',
      ),
    ];
  const found = server;
  const token = run('admin-token', () => hookTokenFinding(found, cluster, input.now));
  const facts = probe(found, timeoutMs);
  const [tokenResult, certificate, clock, rest] = await Promise.all([
    token,
    run('api-certificate', async () => certificateFinding(await facts)),
    run('api-clock', async () => clockFinding(await facts, 60)),
    reachable(input, found, run, skip),
  ]);
  return [access, tokenResult, ...rest.slice(0, 1), certificate, clock, ...rest.slice(1)];
}

function probe(server: ApiServer, timeoutMs: number): ReturnType<typeof probeServer> {
  const address = `${server.url.replace(/\/$/, '')}/version`;
  const { tlsServerName, agent } = server;
  const facts = probeServer(address, {
    signal: AbortSignal.timeout(timeoutMs),
    agent,
    tlsServerName,
  }).catch((cause: unknown) => {
    throw new BerthError(
      'api-unreachable',
      `the server's clock and certificate could not be read: ${messageOf(cause)}`,
      {
        hint: 'See the check `api` of this cluster.',
      },
    );
  });
  // Both checks report a rejection; this handler only keeps Node from ending the process before.
  facts.catch(() => undefined);
  return facts;
}

async function reachable(
  input: ClusterCheckInput,
  server: ApiServer,
  run: (id: CheckId, work: Check) => Promise<CheckResult>,
  skip: (ids: readonly CheckId[], why: string) => CheckResult[],
): Promise<CheckResult[]> {
  const { ondemand } = input;
  let identity = '';
  const api = await run('api', (signal) =>
    withClient(server, signal, async (client) => {
      identity = await whoAmI(client);
      return ok(`${server.url} authenticates the hook as ${identity}`);
    }),
  );
  if (identity === '')
    return [api, ...skip(dependent, 'the API server did not accept the request')];

  let sample: UserObjects | undefined;
  const names = await run('names', () => {
    sample = userObjectsOn({
      user: input.user ?? anybody,
      cluster: input.cluster,
      now: input.now,
      ...(input.cluster.pullSecret && { dockerConfig: '{"auths":{}}' }),
    });
    return ok(`the namespace is ${sample.namespace.metadata.name}`);
  });
  if (sample === undefined) return [api, names, ...skip(dependent, 'there is no valid namespace')];
  const objects = sample;
  const ask = (id: CheckId, work: (client: ApiClient) => Promise<Finding>): Promise<CheckResult> =>
    run(id, (signal) => withClient(server, signal, work));
  let version = '';
  const versionResult = await ask('api-version', async (client) => {
    version = await gitVersion(client);
    return versionFinding(version);
  });
  return [
    api,
    versionResult,
    ...(input.user === undefined ? [] : [names]),
    ...(await Promise.all([
      ask('rights', (client) => rightsFinding(client, objects, input.cluster, identity)),
      ask('excess-rights', (client) => excessRightsFinding(client, identity)),
      ask('cluster-roles', (client) => rolesFinding(client, objects, input.cluster)),
      ask('objects', (client) => objectsFinding(client, objects)),
      ask('object-counts', (client) => objectCountsFinding(client, input.cluster)),
      ask('guard', (client) => guardFinding(client, identity, version)),
      ask('admission', (client) =>
        admissionFinding(client, version, undefined, input.cluster.networkEgress !== undefined),
      ),
      ...(ondemand === undefined
        ? []
        : [
            run('ondemand-kubectl', () =>
              kubectlFinding(ondemand.job, version, input.timeoutMs, input.common.kubectls),
            ),
            ask('ondemand-mounts', (client) => mountsFinding(client, ondemand.job)),
          ]),
      ...(input.cluster.sshSessions === undefined
        ? []
        : [
            ask('ssh-sessions', (client) =>
              sessionRightsFinding(client, input.cluster, objects.namespace.metadata.name),
            ),
          ]),
      ...(input.user === undefined
        ? []
        : [
            ask('user-namespace', (client) =>
              namespaceFinding(client, input.user ?? anybody, objects),
            ),
          ]),
    ])),
  ];
}

/** Runs a check with its own connection; an error becomes a failed finding. */
export async function withClient(
  server: ApiServer,
  signal: AbortSignal,
  work: (client: ApiClient) => Promise<Finding>,
): Promise<Finding> {
  try {
    return await withApiClient(server, signal, work);
  } catch (thrown) {
    return failedWith(asBerthError(thrown, 'asking the API server'));
  }
}

async function gitVersion(client: ApiClient): Promise<string> {
  const answer = await client.send({ method: 'GET', path: '/version' });
  if (answer.status !== 200) throw apiError('reading the version', answer);
  return typeof answer.body.gitVersion === 'string' ? answer.body.gitVersion : '';
}

function versionFinding(version: string): Finding {
  const minor = minorVersion(version);
  if (minor === undefined || minor >= validatingPolicySince) return ok(`Kubernetes ${version}`);
  return warning(
    `Kubernetes ${version} has no ValidatingAdmissionPolicy`,
    "Upgrade to 1.30 or later. Until then, only RBAC limits what the hook's token can do.",
  );
}
