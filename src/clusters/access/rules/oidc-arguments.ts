import { configError } from '../../../config/schema/config-error.ts';
import { excessOfYaml } from '../../../config/schema/yaml-bounds.ts';
import type { BerthError } from '../../../system/errors/berth-error.ts';
import { mappingOrEmpty } from '../../../system/text/mapping.ts';
import { listOf, parsedYaml } from './foreign-yaml.ts';

/** How the API servers of a cluster take tokens of an identity provider. */
export interface OidcArguments {
  readonly issuer: string;
  /** The first audience: `--oidc-client-id`. */
  readonly audience: string;
  readonly usernameClaim: string;
  /** What the API server puts before user names; '' for nothing. */
  readonly usernamePrefix: string;
}

/**
 * The OIDC settings that a KubeadmControlPlane gives its API servers: as arguments (`--oidc-…`), or as an
 * AuthenticationConfiguration in one of its files.
 *
 * @param controlPlane v1beta1, with `extraArgs` as a mapping, or v1beta2, with a list
 * @returns undefined if it has none, or the file is not in the object
 * @throws `config-yaml-invalid` if that file has more of something than `excessOfYaml` allows
 */
export function oidcArguments(controlPlane: unknown): OidcArguments | undefined {
  const { kubeadmConfigSpec } = mappingOrEmpty(mappingOrEmpty(controlPlane).spec);
  const { clusterConfiguration, files } = mappingOrEmpty(kubeadmConfigSpec);
  const args = argumentsOf(
    mappingOrEmpty(mappingOrEmpty(clusterConfiguration).apiServer).extraArgs,
  );
  const path = args.get('authentication-config');
  if (path !== undefined) {
    const file = listOf(files)
      .map(mappingOrEmpty)
      .find((one) => one.path === path);
    return typeof file?.content === 'string' && file.encoding === undefined
      ? authenticationConfiguration(file.content, path)
      : undefined;
  }
  const issuer = args.get('oidc-issuer-url');
  if (issuer === undefined) return undefined;
  const usernameClaim = args.get('oidc-username-claim') ?? 'sub';
  return {
    issuer,
    audience: args.get('oidc-client-id') ?? '',
    usernameClaim,
    usernamePrefix: prefixOf(args.get('oidc-username-prefix'), usernameClaim, issuer),
  };
}

function argumentsOf(extraArgs: unknown): ReadonlyMap<string, string> {
  const pairs = Array.isArray(extraArgs)
    ? extraArgs.map(mappingOrEmpty).map(({ name, value }) => [name, value])
    : Object.entries(mappingOrEmpty(extraArgs));
  return new Map(pairs.map(([name, value]) => [String(name), String(value)]));
}

/** As kube-apiserver(8) says: `-` is no prefix, and without the option it is the issuer, except for `email`. */
function prefixOf(given: string | undefined, claim: string, issuer: string): string {
  if (given === '-') return '';
  return given ?? (claim === 'email' ? '' : `${issuer}#`);
}

/** apiserver.config.k8s.io AuthenticationConfiguration. @returns that of the first issuer */
function authenticationConfiguration(text: string, path: string): OidcArguments | undefined {
  const excess = excessOfYaml(text);
  if (excess !== undefined) throw tooLargeConfiguration(path, `has ${excess}`);
  const [first] = listOf(mappingOrEmpty(parsedYaml(text)).jwt).map(mappingOrEmpty);
  const { url, audiences } = mappingOrEmpty(first?.issuer);
  const { claim, prefix } = mappingOrEmpty(mappingOrEmpty(first?.claimMappings).username);
  if (typeof url !== 'string' || typeof claim !== 'string') return undefined;
  return {
    issuer: url,
    audience: listOf(audiences).find((one) => typeof one === 'string') ?? '',
    usernameClaim: claim,
    usernamePrefix: typeof prefix === 'string' ? prefix : '',
  };
}

/** @param file the AuthenticationConfiguration, or the object that contains it */
export function tooLargeConfiguration(file: string, why: string): BerthError {
  const hint =
    'Have its tenant write a plain AuthenticationConfiguration, without `&anchor` and `*alias`.';
  return configError('config-yaml-invalid', file, `the OIDC settings: it ${why}`, hint);
}
