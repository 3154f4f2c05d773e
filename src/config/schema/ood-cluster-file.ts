import { configProblemsError, type Locate, noPosition } from './config-error.ts';
import { nearestKey } from './nearest-key.ts';
import { isNamespacePrefix, notAPrefix } from './object-name.ts';
import type { ClusterSettings, SettingsWarning } from './settings.ts';
import { kubeconfigPath } from './kubeconfig-path.ts';
import type { LogCode } from '../../system/errors/error-codes.ts';
import type { BerthError } from '../../system/errors/berth-error.ts';
import { asMapping, type Mapping } from '../../system/text/mapping.ts';

/** A cluster as its file in `clusters.d` defines it. */
export interface ClusterDefinition extends Pick<
  ClusterSettings,
  'name' | 'auth' | 'server' | 'kubeconfig'
> {
  /** If absent, OnDemand uses ''. */
  readonly namespacePrefix?: string;
  readonly usernamePrefix?: string;
  /** Why the path in `config_file` cannot be written. Ignored if Berth writes no kubeconfig. */
  readonly configFileError?: BerthError;
  readonly file: string;
  readonly warnings: readonly SettingsWarning[];
}

/** ood_core's default for `server.endpoint`. */
const defaultEndpoint = 'https://localhost:8080';

/**
 * Reads a file of `clusters.d` as OnDemand's Kubernetes adapter does (ood_core, clusters.rb and
 * job/adapters/kubernetes/batch.rb). The defaults for `cluster`, `context`, `auth.type` and the prefixes are
 * the adapter's.
 *
 * @param document the parsed YAML
 * @param name the file's name without `.yml`, which is OnDemand's name of the cluster
 * @returns undefined if it is no Kubernetes cluster: another adapter, no job section, v1
 * @throws BerthError `cluster-value-invalid` with `file`, `cluster` and `key`
 */
export function parseOodCluster(
  document: unknown,
  name: string,
  file: string,
  place: Locate = noPosition,
): ClusterDefinition | undefined {
  const bad = (key: string, complaint: string, hint: string): BerthError => {
    const problem = { path: key.split('.'), text: `${key} ${complaint}` };
    const fields = { cluster: name, key };
    return configProblemsError('cluster-value-invalid', { file, place }, [problem], hint, fields);
  };
  const fail = (key: string, found: string, hint: string): never => {
    throw bad(key, `is ${found}`, hint);
  };
  const top = asMapping(document);
  if (top === undefined) return fail('the file', 'not a YAML mapping', 'Start it with `v2:`.');
  const job = asMapping(asMapping(top.v2)?.job);
  if (job?.adapter !== 'kubernetes') return undefined;

  const text = (map: Mapping, path: string, key: string): string | undefined => {
    const value = map[key];
    if (value === undefined || value === null) return undefined;
    // Ruby interpolates a number into a string unchanged.
    if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
    if (typeof value === 'string') return value;
    return fail(`${path}.${key}`, 'not a string', 'Put the value in quotes.');
  };
  const section = (key: string): Mapping => {
    const value = job[key];
    if (value === undefined || value === null) return {};
    return asMapping(value) ?? fail(`v2.job.${key}`, 'not a mapping', 'Indent its keys below it.');
  };

  const warnings: SettingsWarning[] = [];
  const auth = authType(text(section('auth'), 'v2.job.auth', 'type'), fail, (code, message) =>
    warnings.push({ code, message, file }),
  );
  const cluster = text(job, 'v2.job', 'cluster') ?? 'open-ondemand';
  const namespacePrefix = text(job, 'v2.job', 'namespace_prefix');
  if (namespacePrefix !== undefined && !isNamespacePrefix(namespacePrefix))
    fail(
      'v2.job.namespace_prefix',
      notAPrefix(namespacePrefix),
      'Use at most 62 of a-z, 0-9 and `-`, not beginning with `-`: OnDemand puts the user’s name behind it.',
    );
  const usernamePrefix = text(job, 'v2.job', 'username_prefix');
  const caFile = text(section('server'), 'v2.job.server', 'cert_authority_file');
  if (caFile !== undefined && !caFile.startsWith('/')) {
    fail(
      'v2.job.server.cert_authority_file',
      'not an absolute path',
      'Write a path that begins with `/`.',
    );
  }
  const configFile = text(job, 'v2.job', 'config_file');
  const kubeconfig = configFile === undefined ? undefined : kubeconfigPath(configFile);
  if (configFile?.startsWith('~/') === true)
    warnings.push({
      code: 'cluster-config-file-tilde',
      message: `v2.job.config_file is ${configFile}, but OnDemand passes it as --kubeconfig=~/…, where the shell does not expand the ~: write $HOME instead`,
      file,
    });
  return {
    name,
    auth,
    server: {
      endpoint: endpoint(text(section('server'), 'v2.job.server', 'endpoint'), auth, fail),
      caFile,
    },
    kubeconfig: {
      cluster,
      context: text(job, 'v2.job', 'context') ?? cluster,
      ...(kubeconfig !== undefined && 'path' in kubeconfig && { file: kubeconfig.path }),
    },
    ...(kubeconfig !== undefined &&
      'problem' in kubeconfig && {
        configFileError: bad('v2.job.config_file', kubeconfig.problem, configFileHint),
      }),
    namespacePrefix,
    usernamePrefix,
    file,
    warnings,
  };
}

const configFileHint =
  'Write $HOME/PATH: Berth writes credentials as the user and only below the home directory. Or set credentials.mode: none in berth.yml, and write that file yourself.';

type Fail = (key: string, found: string, hint: string) => never;

function authType(
  type: string | undefined,
  fail: Fail,
  warn: (code: LogCode, message: string) => void,
): ClusterDefinition['auth'] {
  if (type === undefined || type === 'managed') return 'managed';
  if (type === 'gke' || type === 'oidc') return type;
  if (type === 'odic') {
    warn(
      'cluster-auth-odic',
      'v2.job.auth.type is odic, as in OnDemand’s documentation. OnDemand’s code accepts only oidc, so its dashboard sets no context',
    );
    return 'oidc';
  }
  const near = nearestKey(type, ['managed', 'oidc', 'gke']);
  const meant = near === undefined ? 'managed, oidc or gke' : `probably ${near}`;
  return fail('v2.job.auth.type', 'unknown', `OnDemand ignores this value. Write ${meant}.`);
}

function endpoint(text: string | undefined, auth: ClusterDefinition['auth'], fail: Fail): string {
  const key = 'v2.job.server.endpoint';
  const hint = 'Set it to the API server’s URL, https://HOST:6443.';
  if (text === undefined) return auth === 'oidc' ? fail(key, 'missing', hint) : defaultEndpoint;
  const url = URL.parse(text);
  if (url?.protocol !== 'https:' || url.port === '0' || /\s/.test(text))
    return fail(key, 'not an https URL', hint);
  if (url.username !== '' || url.password !== '')
    return fail(key, 'a URL with a user name or password', hint);
  return text;
}
