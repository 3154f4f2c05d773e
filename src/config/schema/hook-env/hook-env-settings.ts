import { network, rewrittenNetwork } from '../ip-address.ts';
import { configError } from '../config-error.ts';
import type { HookEnv } from './hook-env.ts';
import { parseIssuer } from '../issuer-url.ts';
import { nearestKey } from '../nearest-key.ts';
import { isNamespacePrefix, isObjectName, notAPrefix } from '../object-name.ts';
import type { SettingsWarning } from '../settings.ts';
import type { LogCode } from '../../../system/errors/error-codes.ts';

/** The checked variables of `hook.env` that OSC's hooks read. An absent value was unset or empty. */
export interface HookEnvSettings {
  readonly usernamePrefix?: string;
  readonly namespacePrefix?: string;
  /** Present but empty if the file sets the key to an empty list. */
  readonly allowedCidrs?: readonly string[];
  readonly issuer?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly pullSecret?: { readonly name: string; readonly dockerConfigFile: string };
  readonly jobPodReaper: boolean;
  readonly warnings: readonly SettingsWarning[];
}

const keys = [
  'K8S_USERNAME_PREFIX',
  'NAMESPACE_PREFIX',
  'NETWORK_POLICY_ALLOW_CIDR',
  'IDP_ISSUER_URL',
  'CLIENT_ID',
  'CLIENT_SECRET',
  'IMAGE_PULL_SECRET',
  'REGISTRY_DOCKER_CONFIG_JSON',
  'USE_POD_SECURITY_POLICY',
  'USE_JOB_POD_REAPER',
] as const;
type Key = (typeof keys)[number];

/**
 * Whether the value of a variable may be shown. Others than those of OSC's hooks may hold anything, also what they were
 * given from `CLIENT_SECRET`.
 */
export function isShownVariable(name: string): boolean {
  return name !== 'CLIENT_SECRET' && (keys as readonly string[]).includes(name);
}

/**
 * The settings in a parsed `hook.env`. A site's own variables are ignored; one that resembles a known key
 * causes a warning.
 *
 * @throws BerthError `hook-env-value-invalid`, with the file, the line and the key
 */
export function hookEnvSettings(env: HookEnv, file: string): HookEnvSettings {
  const warnings = [...env.warnings];
  const warn = (code: LogCode, key: string, message: string): void => {
    warnings.push({ code, message, file, line: env.lines.get(key) ?? 1 });
  };
  const fail = (key: Key, found: string, hint: string): never => {
    const line = env.lines.get(key) ?? 1;
    throw configError('hook-env-value-invalid', file, `${key} is ${found}`, hint, { line, key });
  };
  const value = (key: Key): string | undefined => env.values.get(key);
  const filled = (key: Key): string | undefined => (value(key) === '' ? undefined : value(key));

  for (const name of env.values.keys()) {
    if ((keys as readonly string[]).includes(name)) continue;
    const near = nearestKey(name, keys);
    if (near === undefined || env.values.has(near)) continue;
    warn(
      'hook-env-unknown-key',
      name,
      `${name} is not a key that Berth reads: did you mean ${near}?`,
    );
  }
  for (const key of ['CLIENT_ID', 'CLIENT_SECRET'] as const) {
    if (value(key) === 'changeme')
      warn('hook-env-example-value', key, `${key} still has the value of the example`);
  }
  if (flag('USE_POD_SECURITY_POLICY', value, warn)) {
    warn(
      'hook-env-pod-security-policy',
      'USE_POD_SECURITY_POLICY',
      'USE_POD_SECURITY_POLICY has no effect: Kubernetes 1.25 removed PodSecurityPolicy; use admission policies',
    );
  }
  return {
    ...defined('usernamePrefix', value('K8S_USERNAME_PREFIX')),
    ...defined('namespacePrefix', namespacePrefix(value('NAMESPACE_PREFIX'), fail)),
    ...defined('allowedCidrs', cidrs(value('NETWORK_POLICY_ALLOW_CIDR'), fail, warn)),
    ...defined('issuer', issuer(filled('IDP_ISSUER_URL'), fail, warn)),
    ...defined('clientId', filled('CLIENT_ID')),
    ...defined('clientSecret', filled('CLIENT_SECRET')),
    ...defined('pullSecret', pullSecret(filled, fail)),
    jobPodReaper: flag('USE_JOB_POD_REAPER', value, warn),
    warnings,
  };
}

type Fail = (key: Key, found: string, hint: string) => never;
type Warn = (code: LogCode, key: Key, message: string) => void;

function namespacePrefix(text: string | undefined, fail: Fail): string | undefined {
  if (text === undefined || isNamespacePrefix(text)) return text;
  const hint =
    'Use at most 62 of a-z, 0-9 and `-`, not beginning with `-`: names of namespaces begin with it.';
  return fail('NAMESPACE_PREFIX', notAPrefix(text), hint);
}

function cidrs(text: string | undefined, fail: Fail, warn: Warn): readonly string[] | undefined {
  const key = 'NETWORK_POLICY_ALLOW_CIDR';
  return text
    ?.split(/[\s,]+/)
    .filter((part) => part !== '')
    .map((part) => {
      const hint =
        'Write address/length, e.g. 10.0.0.0/8 or fd00::/8. Separate several by commas or spaces.';
      const { cidr, refused } =
        network(part) ?? fail(key, `not a CIDR: ${JSON.stringify(part.slice(0, 60))}`, hint);
      if (refused !== undefined)
        warn('network-rewritten', key, `${key}: ${rewrittenNetwork(part, cidr, refused)}`);
      return cidr;
    });
}

function issuer(text: string | undefined, fail: Fail, warn: Warn): string | undefined {
  if (text === undefined) return undefined;
  const read = parseIssuer(text);
  if ('problem' in read) {
    const hint = 'Set it to the `issuer` of the provider’s .well-known/openid-configuration.';
    return fail('IDP_ISSUER_URL', read.problem, hint);
  }
  if (read.wasTokenEndpoint) {
    warn(
      'hook-env-token-endpoint',
      'IDP_ISSUER_URL',
      `IDP_ISSUER_URL is a token endpoint; its issuer ${read.issuer} is used`,
    );
  }
  return read.issuer;
}

function pullSecret(
  filled: (key: Key) => string | undefined,
  fail: Fail,
): HookEnvSettings['pullSecret'] {
  const name = filled('IMAGE_PULL_SECRET');
  if (name === undefined) return undefined;
  if (!isObjectName(name)) {
    const hint = 'Use lower case letters, digits, `-` and `.`.';
    fail('IMAGE_PULL_SECRET', 'not a valid name of a Secret', hint);
  }
  const file = filled('REGISTRY_DOCKER_CONFIG_JSON');
  const hint =
    'Write the absolute path of the .dockerconfigjson, or leave IMAGE_PULL_SECRET empty.';
  if (file === undefined)
    return fail('IMAGE_PULL_SECRET', 'set, but REGISTRY_DOCKER_CONFIG_JSON is not', hint);
  if (!file.startsWith('/'))
    return fail('REGISTRY_DOCKER_CONFIG_JSON', 'not an absolute path', hint);
  return { name, dockerConfigFile: file };
}

/** OSC's scripts compare with `true`; any other value is false. */
function flag(key: Key, value: (key: Key) => string | undefined, warn: Warn): boolean {
  const text = value(key) ?? '';
  if (text !== 'true' && text !== 'false' && text !== '') {
    warn('hook-env-flag-invalid', key, `${key} is neither true nor false, and is treated as false`);
  }
  return text === 'true';
}

function defined<K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> {
  return value === undefined ? {} : ({ [key]: value } as Partial<Record<K, V>>);
}
