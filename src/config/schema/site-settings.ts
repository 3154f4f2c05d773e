import { BerthError, expectBerthError } from '../../system/errors/berth-error.ts';
import type { ClusterOptions } from './berth-yml.ts';
import { defaultSettings } from './default-settings.ts';
import type { ClusterDefinition } from './ood-cluster-file.ts';
import { credentialSettings } from './credential-settings.ts';
import { configProblemsError, noPosition } from './config-error.ts';
import { deepFreeze } from './deep-freeze.ts';
import { namespaceSettings } from './namespace-settings.ts';
import { nearestKey } from './nearest-key.ts';
import type { BrokenCluster, LoadedSiteSettings, SiteFileContents } from './site-file-contents.ts';
import type {
  AdminCredentials,
  ClusterSettings,
  CredentialSettings,
  SettingsWarning,
  SiteSettings,
} from './settings.ts';

/** For one login node. A site with several configures a different Secret on each. */
const sessionSecret = 'berth-session';

/** OSC's `hook.env.example`. */
const shippedCidrs = ['127.0.0.1/32'];

/**
 * Merges the contents of all files into one frozen value. Precedence: `clusters.NAME` of berth.yml, its
 * `defaults`, the cluster's file in `clusters.d`, `hook.env`, the default. Clusters with errors are
 * returned separately.
 */
export function siteSettings(parts: SiteFileContents): LoadedSiteSettings {
  const { berth } = parts;
  const broken: BrokenCluster[] = [];
  const clusters: ClusterSettings[] = [];
  const warnings = [...parts.warnings, ...(parts.hookEnv?.warnings ?? []), ...berth.warnings];
  for (const part of parts.clusters) {
    if ('error' in part) {
      broken.push(part);
      continue;
    }
    const own = berth.clusters.get(part.name);
    warnings.push(...part.warnings, ...prefixWarnings(part, parts));
    try {
      if (own instanceof BerthError) throw own;
      const credentials = credentialsOf(part, own, parts, (warning) => warnings.push(warning));
      clusters.push(clusterSettings(part, own, parts, credentials));
    } catch (error) {
      expectBerthError(error);
      const rest =
        own instanceof BerthError || error.code !== 'credentials-incomplete'
          ? {}
          : { withoutCredentials: clusterSettings(part, own, parts, { mode: 'none' }) };
      broken.push({ cluster: part.name, error, ...rest });
    }
  }
  broken.push(...entriesWithoutCluster(parts));
  if (parts.clusters.length === 0) warnings.push(noCluster(parts));
  const settings: SiteSettings = {
    minimumUid: berth.minimum_uid ?? defaultSettings.minimumUid,
    ...(berth.log_format && { logFormat: berth.log_format }),
    ...(berth.defaults?.jupyterhub?.groups && { hubGroups: berth.defaults.jupyterhub.groups }),
    deadlineMs: berth.deadline ?? defaultSettings.deadlineMs,
    stateDir: berth.state_dir ?? defaultSettings.stateDir,
    clustersDir: berth.clusters_dir ?? defaultSettings.clustersDir,
    kubeCredentialCommand: berth.kube_credential ?? defaultSettings.kubeCredentialCommand,
    clusters,
    warnings,
  };
  return { settings: deepFreeze(settings), broken };
}

function credentialsOf(
  definition: ClusterDefinition,
  own: ClusterOptions | undefined,
  parts: SiteFileContents,
  warn: (warning: SettingsWarning) => unknown,
): CredentialSettings {
  const levels = {
    site: parts.berth.defaults?.credentials ?? {},
    own: own?.credentials ?? {},
  };
  const credentials = credentialSettings(definition, levels, parts, warn);
  if (definition.configFileError !== undefined && credentials.mode !== 'none')
    throw definition.configFileError;
  return credentials;
}

function clusterSettings(
  definition: ClusterDefinition,
  own: ClusterOptions | undefined,
  parts: SiteFileContents,
  credentials: CredentialSettings,
): ClusterSettings {
  const { name, auth, server, kubeconfig } = definition;
  const { berth, hookEnv } = parts;
  const options = { ...berth.defaults, ...own };
  const pullSecret =
    options.pull_secret === undefined
      ? hookEnv?.pullSecret
      : options.pull_secret && {
          name: options.pull_secret.name,
          dockerConfigFile: options.pull_secret.docker_config_json,
        };
  return {
    name,
    auth,
    server,
    kubeconfig,
    namespacePrefix: definition.namespacePrefix ?? hookEnv?.namespacePrefix ?? '',
    usernamePrefix: definition.usernamePrefix ?? hookEnv?.usernamePrefix ?? '',
    subjectPrefix: options.subject_prefix ?? '',
    admin: adminCredentials(mergedAdmin(berth.defaults?.admin, own?.admin)),
    allowedCidrs: options.allow_cidrs ?? hookEnv?.allowedCidrs ?? shippedCidrs,
    ...(pullSecret ? { pullSecret } : {}),
    jobPodReaper: options.job_pod_reaper ?? hookEnv?.jobPodReaper ?? false,
    ...(options.resource_quota ? { resourceQuota: options.resource_quota } : {}),
    ...(options.limit_range ? { limitRange: options.limit_range } : {}),
    ...namespaceSettings(options),
    ...(options.ssh_sessions
      ? { sshSessions: { secret: options.ssh_sessions.secret ?? sessionSecret } }
      : {}),
    credentials,
  };
}

/** A cluster without its own kubeconfig uses the site's. A context belongs to the file beside it. */
function mergedAdmin(
  site: ClusterOptions['admin'],
  own: ClusterOptions['admin'],
): ClusterOptions['admin'] {
  if (site === undefined || own === undefined) return own ?? site;
  if (own.kubeconfig !== undefined) return own;
  if (own.cluster_api === undefined) return { ...site, ...own };
  return { kubeconfig: site.kubeconfig, ...own };
}

function adminCredentials({
  cluster_api: api,
  ...own
}: ClusterOptions['admin'] = {}): AdminCredentials {
  const where = fileAndContext(own);
  if (api === undefined) return { kind: 'kubeconfig', ...where };
  const { namespace, cluster } = api;
  return {
    kind: 'cluster-api',
    ...where,
    management: { ...fileAndContext(api), namespace, cluster },
  };
}

function fileAndContext(options: {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}): { readonly file: string; readonly context?: string } {
  const file = options.kubeconfig ?? defaultSettings.adminKubeconfig;
  return options.context === undefined ? { file } : { file, context: options.context };
}

/** OnDemand's dashboard reads only `clusters.d`. A prefix there has precedence; one of `hook.env` alone is Berth's only. */
function prefixWarnings(definition: ClusterDefinition, parts: SiteFileContents): SettingsWarning[] {
  const compared = [
    [
      'namespace_prefix',
      'NAMESPACE_PREFIX',
      definition.namespacePrefix,
      parts.hookEnv?.namespacePrefix,
    ],
    [
      'username_prefix',
      'K8S_USERNAME_PREFIX',
      definition.usernamePrefix,
      parts.hookEnv?.usernamePrefix,
    ],
  ] as const;
  return compared.flatMap(([key, variable, ours, theirs]) => {
    if (theirs === undefined || theirs === (ours ?? '')) return [];
    // hook.env is for all clusters: the cluster's own file is more specific.
    if (ours !== undefined && theirs === '') return [];
    const differ = `${definition.name}: v2.job.${key} and ${variable} of ${parts.hookEnvFile} differ`;
    return ours === undefined
      ? {
          code: 'prefixes-differ',
          message: `${differ}: Berth uses ${variable}, but OnDemand reads only v2.job.${key}, which is not set`,
          file: definition.file,
        }
      : {
          code: 'prefixes-differ',
          message: `${differ}: Berth and OnDemand use v2.job.${key}, so ${variable} has no effect on this cluster`,
          file: parts.hookEnvFile,
        };
  });
}

/** An unknown name is an error: a mistyped one would leave its cluster without its settings. */
function entriesWithoutCluster({
  berth,
  berthFile: file,
  berthPlace: place = noPosition,
  clusters,
}: SiteFileContents): BrokenCluster[] {
  const names = clusters.map((part) => ('error' in part ? part.cluster : part.name));
  return [...berth.clusters.keys()]
    .filter((name) => !names.includes(name))
    .map((cluster) => {
      const near = nearestKey(cluster, names);
      const help =
        near === undefined
          ? `known clusters: ${names.join(', ') || 'none'}`
          : `did you mean ${near}?`;
      const text = `clusters.${cluster} is not a Kubernetes cluster of OnDemand: ${help}`;
      const complaint = { path: ['clusters', cluster], atKey: true, text };
      const hint = 'Use the name of the file in clusters.d, without .yml.';
      const fields = { cluster };
      return {
        cluster,
        error: configProblemsError('cluster-unknown', { file, place }, [complaint], hint, fields),
      };
    });
}

function noCluster({ berth }: SiteFileContents): SettingsWarning {
  const file = berth.clusters_dir ?? defaultSettings.clustersDir;
  const message = `no file in ${file} has v2.job.adapter: kubernetes, so the hook does nothing`;
  return { code: 'no-kubernetes-cluster', message, file };
}
