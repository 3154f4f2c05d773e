import { parse } from 'yaml';
import { listOf, mapOf } from './capi-objects.ts';

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
 */
export function oidcArguments(controlPlane: unknown): OidcArguments | undefined {
  const { kubeadmConfigSpec } = mapOf(mapOf(controlPlane).spec);
  const { clusterConfiguration, files } = mapOf(kubeadmConfigSpec);
  const args = argumentsOf(mapOf(mapOf(clusterConfiguration).apiServer).extraArgs);
  const path = args.get('authentication-config');
  if (path !== undefined) {
    const file = listOf(files)
      .map(mapOf)
      .find((one) => one.path === path);
    return typeof file?.content === 'string' && file.encoding === undefined
      ? authenticationConfiguration(file.content)
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
    ? extraArgs.map(mapOf).map(({ name, value }) => [name, value])
    : Object.entries(mapOf(extraArgs));
  return new Map(pairs.map(([name, value]) => [String(name), String(value)]));
}

/** As kube-apiserver(8) says: `-` is no prefix, and without the option it is the issuer, except for `email`. */
function prefixOf(given: string | undefined, claim: string, issuer: string): string {
  if (given === '-') return '';
  return given ?? (claim === 'email' ? '' : `${issuer}#`);
}

/** apiserver.config.k8s.io AuthenticationConfiguration. @returns that of the first issuer */
function authenticationConfiguration(text: string): OidcArguments | undefined {
  const [first] = listOf(mapOf(parsed(text)).jwt).map(mapOf);
  const { url, audiences } = mapOf(first?.issuer);
  const { claim, prefix } = mapOf(mapOf(first?.claimMappings).username);
  if (typeof url !== 'string' || typeof claim !== 'string') return undefined;
  return {
    issuer: url,
    audience: listOf(audiences).find((one) => typeof one === 'string') ?? '',
    usernameClaim: claim,
    usernamePrefix: typeof prefix === 'string' ? prefix : '',
  };
}

function parsed(text: string): unknown {
  try {
    return parse(text) as unknown;
  } catch {
    return undefined;
  }
}
