import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { defaultKubeconfig, kubeconfigPath } from '../config/kubeconfig-path.ts';
import type { ClusterSettings } from '../config/settings.ts';
import { parseYaml } from '../config/yaml-document.ts';
import { readTrusted } from '../system/trusted-text.ts';
import { asBerthError } from '../errors.ts';
import { type Mapping, mappingOrEmpty } from '../mapping.ts';
import type { ResolveConfigPath } from '../settings/config-overlay.ts';
import {
  type CheckResult,
  failedWith,
  type Finding,
  ok,
  skipped,
  warning,
} from '../check-result.ts';

/** What OnDemand reads of a cluster and Berth does not use. */
export interface OndemandKeys {
  /** The file of clusters.d. */
  readonly file: string;
  /** `v2.job` of it. */
  readonly job: Mapping;
  readonly batchConnect: Mapping;
  /** `KUBECONFIG` of the users' portal, and the file that sets it. */
  readonly environment?: { readonly file: string; readonly kubeconfig: string };
}

/**
 * Reads what OnDemand reads of a cluster, on a portal only: a login node may have the files of clusters.d without OnDemand.
 *
 * @throws BerthError those of `readTrusted` and `parseYaml`
 */
function ondemandKeys(
  clustersDir: string,
  name: string,
  at: ResolveConfigPath,
): OndemandKeys | undefined {
  const directory = dirname(clustersDir);
  if (!existsSync(join(directory, 'ood_portal.yml'))) return undefined;
  const file = [`${name}.yml`, `${name}.yaml`]
    .map((one) => at(join(clustersDir, one)))
    .find((one) => existsSync(one));
  if (file === undefined) return undefined;
  const v2 = mappingOrEmpty(mappingOrEmpty(parseYaml(readTrusted(file), file, 'psych')).v2);
  const environment = portalKubeconfig(directory);
  return {
    ...{ file, job: mappingOrEmpty(v2.job), batchConnect: mappingOrEmpty(v2.batch_connect) },
    ...(environment === undefined ? {} : { environment }),
  };
}

/** Where OnDemand gets KUBECONFIG from: the first that sets it counts (the dashboard's load_dotenv_files). */
function portalKubeconfig(directory: string): OndemandKeys['environment'] {
  const dotenv = (text: string): unknown => parseEnv(text).KUBECONFIG;
  const stage = (text: string, file: string): unknown =>
    mappingOrEmpty(mappingOrEmpty(parseYaml(text, file, 'psych')).pun_custom_env).KUBECONFIG;
  const sources = [
    ['apps/dashboard/env.overload', dotenv],
    ['nginx_stage.yml', stage],
    ['apps/dashboard/env', dotenv],
  ] as const;
  for (const [name, read] of sources) {
    const file = join(directory, name);
    const kubeconfig = existsSync(file) ? read(readTrusted(file), file) : undefined;
    if (typeof kubeconfig === 'string') return { file, kubeconfig };
  }
  return undefined;
}

type Judge = (keys: OndemandKeys, cluster: ClusterSettings) => Finding | undefined;

/** OnDemand's keys of a cluster that can contradict what Berth sets up. */
const judges: Readonly<Record<string, Judge>> = {
  KUBECONFIG: ({ file, job, environment }, { kubeconfig, credentials }) => {
    if (environment === undefined || job.config_file != null || credentials.mode === 'none')
      return undefined;
    const place = kubeconfigPath(environment.kubeconfig);
    const ours = kubeconfig.file ?? defaultKubeconfig;
    if ('path' in place && place.path === ours) return undefined;
    return warning(
      `${environment.file} sets KUBECONFIG=${environment.kubeconfig}, which OnDemand uses, but Berth writes credentials to ~/${ours}`,
      `Write the path as v2.job.config_file in ${file}, which both use, and remove KUBECONFIG.`,
    );
  },
  all_namespaces: ({ file, job }) =>
    job.all_namespaces === true
      ? warning(
          `v2.job.all_namespaces is true in ${file}: OnDemand lists the pods of all namespaces, which Berth's roles do not permit, so its pages show no job`,
          'Set it to false. Or let a group of users read all pods: `kubectl create clusterrole pod-readers --verb=get,list --resource=pods`, then `kubectl create clusterrolebinding pod-readers --clusterrole=pod-readers --group=GROUP`.',
        )
      : undefined,
  ssh_allow: ({ file, batchConnect }) =>
    batchConnect.ssh_allow === false
      ? undefined
      : warning(
          `v2.batch_connect.ssh_allow is not false in ${file}: OnDemand shows users a link to a shell on the node of their pod`,
          'Add `batch_connect: {ssh_allow: false}` below v2.',
        ),
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
        'Set v2.job.auth.svc_acct_file to the key file in the home of each user.',
      );
    return skipped(
      `auth is gke: OnDemand runs gcloud with svc_acct_file, and Berth writes no credentials. Berth's RoleBindings name ${subjectPrefix}USER; bind ood-user in the namespace to the Google account, too`,
    );
  },
};

/** `ondemand-keys`: what of OnDemand's keys contradicts Berth, each with its own sentence. */
export function checkOndemandKeys(
  cluster: ClusterSettings,
  clustersDir: string,
  at: ResolveConfigPath,
): { readonly keys?: OndemandKeys; readonly results: readonly CheckResult[] } {
  const result = (finding: Finding): CheckResult => ({
    ...{ id: 'ondemand-keys', cluster: cluster.name },
    ...finding,
  });
  try {
    const keys = ondemandKeys(clustersDir, cluster.name, at);
    if (keys === undefined) return { results: [] };
    const found = Object.values(judges).flatMap((judge) => judge(keys, cluster) ?? []);
    const agree = ok(`${keys.file} and Berth agree: ${Object.keys(judges).join(', ')}`);
    return { keys, results: (found.length > 0 ? found : [agree]).map(result) };
  } catch (thrown) {
    return { results: [result(failedWith(asBerthError(thrown, "reading OnDemand's files")))] };
  }
}
