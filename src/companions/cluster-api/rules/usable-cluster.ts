import { parseIssuer } from '../../../config/schema/issuer-url.ts';
import type { CapiCluster } from '../../../clusters/access/rules/capi-cluster.ts';
import type { OidcArguments } from '../../../clusters/access/rules/oidc-arguments.ts';

/** A cluster with what a portal needs of it. */
export interface UsableCluster {
  readonly cluster: CapiCluster;
  /** URL of the API server. */
  readonly endpoint: string;
  /** PEM. */
  readonly ca: string;
  readonly oidc?: OidcArguments;
}

/**
 * Why a cluster cannot be used: its address, CA and OIDC settings are in objects that a tenant of the management cluster can
 * write, and users' tokens go where they say.
 *
 * @param issuers the identity providers whose tokens users' clusters may get
 */
export function problemOfCluster(
  { endpoint, ca, oidc }: UsableCluster,
  issuers: readonly string[],
): string | undefined {
  const url = URL.parse(endpoint);
  if (url?.protocol !== 'https:' || /\s/.test(endpoint))
    return 'the server address in its kubeconfig is not an https URL';
  if (url.username !== '' || url.password !== '')
    return 'the server address in its kubeconfig has a user name or password';
  if (!isPem(ca)) return 'the CA in its kubeconfig is not a PEM certificate';
  if (oidc === undefined) return undefined;
  const { issuer, audience, usernameClaim } = oidc;
  const read = parseIssuer(issuer);
  if ('problem' in read) return `the issuer of its API servers is ${read.problem}`;
  if (audience === '') return 'its API servers have no --oidc-client-id';
  if (usernameClaim === '') return 'its API servers have no --oidc-username-claim';
  if (issuers.includes(issuer)) return undefined;
  const site =
    issuers.length === 0
      ? 'the site has no issuer in hook.env or berth.yml'
      : `the site's is ${issuers.join(', ')}`;
  return `its API servers take tokens of the issuer ${issuer}, and ${site}; to allow it: --issuer ${issuer}`;
}

/** Whether it is one certificate or several, and nothing else: it is written to a file that root trusts. */
function isPem(text: string): boolean {
  const certificate = /-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;
  return certificate.test(text) && text.replace(certificate, '').trim() === '';
}
