import { resolve } from 'node:path';
import { defaultKubeconfig, kubeconfigPath } from '../../config/schema/kubeconfig-path.ts';
import type { ClusterSettings } from '../../config/schema/settings.ts';
import { parseYaml } from '../../config/schema/yaml-document.ts';
import { realPathIfPresent } from '../../system/if-present.ts';
import { readTrusted } from '../../system/trusted-text.ts';
import { asBerthError } from '../../system/errors/berth-error.ts';
import { type Mapping, mappingOrEmpty } from '../../system/text/mapping.ts';
import { clusterFile } from '../../config/load/config-overlay.ts';
import type { ResolveConfigPath } from '../../config/load/config-path.ts';
import {
  type CheckResult,
  failedWith,
  type Finding,
  ok,
  skipped,
  warning,
} from '../../system/errors/check-result.ts';
import {
  ondemandDirectory,
  type PortalEnvironment,
  portalEnvironment,
} from './portal-environment.ts';

/** What OnDemand reads of a cluster and Berth does not use. */
export interface OndemandKeys {
  /** The file of clusters.d. */
  readonly file: string;
  /** `v2.job` of it. */
  readonly job: Mapping;
  readonly login: Mapping;
  readonly batchConnect: Mapping;
  /** That of the dashboard, which is the same for all clusters. */
  readonly environment: PortalEnvironment;
}

/** @throws BerthError those of `readTrusted` and `parseYaml` */
function ondemandKeys(
  { clustersDir, at, environment }: PortalOfClusters,
  name: string,
): OndemandKeys | undefined {
  const file = clusterFile(clustersDir, name, at);
  if (file === undefined) return undefined;
  const v2 = mappingOrEmpty(mappingOrEmpty(parseYaml(readTrusted(file), file, 'psych')).v2);
  return {
    file,
    environment,
    job: mappingOrEmpty(v2.job),
    login: mappingOrEmpty(v2.login),
    batchConnect: mappingOrEmpty(v2.batch_connect),
  };
}

type Judge = (keys: OndemandKeys, cluster: ClusterSettings) => Finding | undefined;

/** OnDemand's keys of a cluster that can contradict what Berth sets up. */
const judges: Readonly<Record<string, Judge>> = {
  KUBECONFIG: ({ file, job, environment }, { kubeconfig, credentials }) => {
    const variable = environment.get('KUBECONFIG');
    if (variable === undefined || job.config_file != null || credentials.mode === 'none')
      return undefined;
    const next = `Set v2.job.config_file in ${file}, which OnDemand and Berth both use, to the path in KUBECONFIG, and remove KUBECONFIG from ${variable.file}.`;
    if ('computedBy' in variable) return unknownValue('KUBECONFIG', variable, next);
    const place = kubeconfigPath(variable.value);
    const ours = kubeconfig.file ?? defaultKubeconfig;
    if ('path' in place && place.path === ours) return undefined;
    return warning(
      `${variable.file} sets KUBECONFIG=${variable.value}, which OnDemand uses, but Berth writes credentials to ~/${ours}`,
      next,
    );
  },
  all_namespaces: ({ file, job }) =>
    job.all_namespaces === true
      ? warning(
          `v2.job.all_namespaces is true in ${file}: OnDemand lists the pods of all namespaces, which Berth's roles do not permit, so its pages show no job`,
          'Set it to false. Or let a group of users read all pods: `kubectl create clusterrole pod-readers --verb=get,list --resource=pods`, then `kubectl create clusterrolebinding pod-readers --clusterrole=pod-readers --group=GROUP`.',
        )
      : undefined,
  ssh_allow: ({ file, batchConnect, environment }) =>
    (batchConnect.ssh_allow ?? sshToComputeNodes(environment)) === false
      ? undefined
      : warning(
          `v2.batch_connect.ssh_allow is not false in ${file}: OnDemand shows users a link to a shell on the node of their pod, where they cannot log in`,
          'Add `batch_connect: {ssh_allow: false}` below v2.',
        ),
  login: ({ file, login }, { server }) =>
    typeof login.host === 'string' && login.host === new URL(server.endpoint).hostname
      ? warning(
          `v2.login.host in ${file} is the API server, so OnDemand offers users an SSH shell on the API server`,
          'Write the address of the login nodes, or remove v2.login.',
        )
      : undefined,
  gke: ({ file, job }, { auth, credentials, subjectPrefix }) => {
    if (auth !== 'gke') return undefined;
    if (credentials.mode !== 'none')
      return warning(
        `auth is gke in ${file}, so gcloud writes the user's kubeconfig, and so does Berth (credentials.mode: ${credentials.mode})`,
        'Set credentials.mode: none for this cluster in berth.yml.',
      );
    if (typeof mappingOrEmpty(job.auth).svc_acct_file !== 'string')
      return warning(
        `auth is gke in ${file} without svc_acct_file: OnDemand cannot run gcloud`,
        "Set v2.job.auth.svc_acct_file to the path of the key file in each user's home.",
      );
    return skipped(
      `auth is gke: OnDemand runs gcloud with svc_acct_file, and Berth writes no credentials. Berth's RoleBindings name ${subjectPrefix}USER; bind ood-user in the namespace to the Google account, too`,
    );
  },
};

/** The dashboard's OOD_BC_SSH_TO_COMPUTE_NODE, as OnDemand's BoolReader reads it. */
function sshToComputeNodes(environment: PortalEnvironment): boolean {
  const variable = environment.get('OOD_BC_SSH_TO_COMPUTE_NODE');
  return (
    variable === undefined ||
    'computedBy' in variable ||
    !/^(?:|0|f|false|off|no)$/i.test(variable.value)
  );
}

function unknownValue(
  name: string,
  { file, computedBy }: { readonly file: string; readonly computedBy: string },
  next: string,
): Finding {
  return warning(
    `not compared: ${file} sets ${name} from ${computedBy}, which Berth does not execute`,
    next,
  );
}

/** What all clusters of a portal share. */
export interface PortalOfClusters {
  readonly clustersDir: string;
  readonly at: ResolveConfigPath;
  readonly environment: PortalEnvironment;
}

/**
 * `ondemand-keys` of the portal: the dashboard's environment, and whether it has the same clusters as Berth. No portal is
 * returned for a host without OnDemand: a login node may have the files of clusters.d.
 */
export function checkOndemandPortal(
  clustersDir: string,
  at: ResolveConfigPath,
): { readonly portal?: PortalOfClusters; readonly results: readonly CheckResult[] } {
  const result = (finding: Finding): CheckResult => ({ id: 'ondemand-keys', ...finding });
  const directory = ondemandDirectory(clustersDir);
  if (directory === undefined) return { results: [] };
  try {
    const environment = portalEnvironment(directory);
    const finding = clustersFinding(environment, clustersDir);
    const results = finding === undefined ? [] : [result(finding)];
    return { portal: { clustersDir, at, environment }, results };
  } catch (thrown) {
    const portal = { clustersDir, at, environment: new Map() };
    return { portal, results: [result(unreadable(thrown))] };
  }
}

function unreadable(thrown: unknown): Finding {
  return failedWith(asBerthError(thrown, "reading OnDemand's files"));
}

function clustersFinding(environment: PortalEnvironment, clustersDir: string): Finding | undefined {
  const variable = environment.get('OOD_CLUSTERS');
  if (variable === undefined) return undefined;
  const next = 'Set clusters_dir in berth.yml to the same directory, or remove OOD_CLUSTERS.';
  if ('computedBy' in variable) return unknownValue('OOD_CLUSTERS', variable, next);
  return realPathIfPresent(resolve(variable.value)) === realPathIfPresent(resolve(clustersDir))
    ? undefined
    : warning(
        `OnDemand reads its clusters from ${variable.value} (OOD_CLUSTERS in ${variable.file}), Berth from ${clustersDir}`,
        next,
      );
}

/** `ondemand-keys` of a cluster: what of OnDemand's keys contradicts Berth, each with its own sentence. */
export function checkOndemandKeys(
  cluster: ClusterSettings,
  portal: PortalOfClusters,
): { readonly keys?: OndemandKeys; readonly results: readonly CheckResult[] } {
  const result = (finding: Finding): CheckResult => ({
    id: 'ondemand-keys',
    cluster: cluster.name,
    ...finding,
  });
  try {
    const keys = ondemandKeys(portal, cluster.name);
    if (keys === undefined) return { results: [] };
    const found = Object.values(judges).flatMap((judge) => judge(keys, cluster) ?? []);
    const agree = ok(
      `${keys.file} does not contradict Berth (checked: ${Object.keys(judges).join(', ')})`,
    );
    return { keys, results: (found.length > 0 ? found : [agree]).map(result) };
  } catch (thrown) {
    return { results: [result(unreadable(thrown))] };
  }
}
