import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { clusterFile } from '../../config/load/config-overlay.ts';
import { parseBerthYml } from '../../config/schema/berth-yml.ts';
import { defaultConfigFile, defaultSettings } from '../../config/schema/default-settings.ts';
import { parseYaml, readYaml } from '../../config/schema/yaml-document.ts';
import { mappingOrEmpty } from '../../system/text/mapping.ts';
import { readIfPresent, readTrusted } from '../../system/trusted-text.ts';
import { type ClusterAnswers, contextNames, hookContext } from './cluster-setup.ts';

/** What becomes the credential: the result of a token exchange, or one of the portal's own tokens. */
export type PortalToken = 'exchange' | 'access' | 'id';

/** What berth.yml says already, for the defaults of the questions. */
export interface PresentPortal {
  readonly subjectPrefix: string;
  readonly audience: string;
  readonly caFile: string;
  /** Empty: neither `exchange` nor `token` is set. */
  readonly token: PortalToken | '';
  readonly exchangeScope: string;
  readonly hookEnv?: string;
  /** Root's kubeconfig with the hook's tokens. */
  readonly hookKubeconfig: string;
}

/** @throws {BerthError} `config-yaml-invalid`, `berth-yml-invalid`; system errors */
export function presentPortal(file: string): PresentPortal {
  const text = readIfPresent(file) ?? '';
  const { value, place } = readYaml(text, file, 'core');
  const { defaults, hook_env } = parseBerthYml(value, file, place);
  const { exchange, token, exchange_scope } = defaults?.credentials ?? {};
  return {
    subjectPrefix: defaults?.subject_prefix ?? '',
    audience: defaults?.credentials?.audience ?? '',
    caFile: defaults?.credentials?.ca_file ?? '',
    token: exchange === true ? 'exchange' : exchange === false ? (token ?? 'id') : '',
    exchangeScope: exchange_scope ?? '',
    hookKubeconfig: defaults?.admin?.kubeconfig ?? defaultSettings.adminKubeconfig,
    ...(typeof hook_env === 'string' && { hookEnv: hook_env }),
  };
}

/** OnDemand's file of the hook's settings in a directory: its documentation has two names for it. */
export function hookEnvFileIn(directory: string): string {
  const [usual, other] = [join(directory, 'hook.env'), join(directory, 'hooks.env')];
  return !existsSync(usual) && existsSync(other) ? other : usual;
}

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
      ? { kubeconfig, ...(typeof context === 'string' && { context }) }
      : contextNames(hookKubeconfig).has(own)
        ? { kubeconfig: hookKubeconfig, context: own }
        : undefined;
  return {
    ...(typeof prefix === 'string' && { namespacePrefix: prefix }),
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
    purpose: 'login-node',
    credentials: 'oidc',
    config: defaultConfigFile,
    clustersDir,
    hookEnv: hookEnv ?? hookEnvFileIn('/etc/ood/config'),
    hookKubeconfig,
  };
}
