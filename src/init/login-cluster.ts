import { defaultConfigFile, defaultSettings } from '../config/schema/default-settings.ts';
import { parseYaml } from '../config/schema/yaml-document.ts';
import { mappingOrEmpty } from '../mapping.ts';
import { clusterFile } from '../config/load/cluster-file.ts';
import { readIfPresent, readTrusted } from '../system/trusted-text.ts';
import { type ClusterAnswers, contextNames, hookContext } from './cluster-setup.ts';
import { hookEnvFileIn } from './hook-env-file.ts';
import { presentPortal } from './present-portal.ts';

/** What this host has of the cluster of its SSH sessions, before its admin is asked. */
export interface PresentCluster {
  readonly namespacePrefix?: string;
  /** A kubeconfig with which root has access to it. */
  readonly access?: { readonly kubeconfig: string; readonly context?: string };
}

const { clustersDir } = defaultSettings;

/** @param name as in OnDemand; empty if it is not known yet. @throws {BerthError} as `presentPortal`; system errors */
export function presentCluster(name: string): PresentCluster {
  if (name === '') return {};
  const { hookKubeconfig } = presentPortal(defaultConfigFile);
  const file = clusterFile(clustersDir, name);
  const definition = file === undefined ? undefined : parseYaml(readTrusted(file), file, 'psych');
  const { job } = mappingOrEmpty(mappingOrEmpty(definition).v2);
  const { namespace_prefix: prefix } = mappingOrEmpty(job);
  const { clusters } = mappingOrEmpty(
    parseYaml(readIfPresent(defaultConfigFile) ?? '', defaultConfigFile, 'core'),
  );
  const { kubeconfig, context } = mappingOrEmpty(
    mappingOrEmpty(mappingOrEmpty(clusters)[name]).admin,
  );
  const own = typeof context === 'string' ? context : hookContext(name);
  const access =
    typeof kubeconfig === 'string'
      ? { kubeconfig, ...(typeof context === 'string' ? { context } : {}) }
      : contextNames(hookKubeconfig).has(own)
        ? { kubeconfig: hookKubeconfig, context: own }
        : undefined;
  return {
    ...(typeof prefix === 'string' ? { namespacePrefix: prefix } : {}),
    access,
  };
}

/** The answers about a cluster for `clusterSetup`, on a login node. @throws {BerthError} as `presentPortal` */
export function loginCluster(
  answers: Pick<ClusterAnswers, 'name' | 'kubeconfig' | 'context' | 'apply' | 'kubectl'> & {
    readonly namespacePrefix: string;
  },
): ClusterAnswers {
  const { hookEnv, hookKubeconfig } = presentPortal(defaultConfigFile);
  return {
    ...answers,
    ...{ purpose: 'login-node', credentials: 'oidc', config: defaultConfigFile, clustersDir },
    hookEnv: hookEnv ?? hookEnvFileIn('/etc/ood/config'),
    hookKubeconfig,
  };
}
