import { parseIssuer } from '../../config/schema/issuer-url.ts';
import { isObjectName } from '../../config/schema/object-name.ts';
import { mappingOrEmpty } from '../../mapping.ts';
import type { UsableCluster } from './cluster-files.ts';

/** The API group of KubeadmControlPlanes. */
export const controlPlaneGroup = 'controlplane.cluster.x-k8s.io';

/** A Cluster of Cluster API, as far as a portal needs it. */
export interface CapiCluster {
  readonly namespace: string;
  readonly name: string;
  /** Whether it is being deleted. */
  readonly deleting: boolean;
  /** What makes its API servers, such as a KubeadmControlPlane. */
  readonly controlPlane?: ObjectReference;
}

/** A reference to an object, in the ways of v1beta1 (apiVersion) and v1beta2 (apiGroup). Its parts are fit for a path. */
export interface ObjectReference {
  /** Undefined with v1beta2: the server's preferred version is meant. */
  readonly version?: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Reads a Cluster, v1beta1 or v1beta2. Its names become paths. @returns undefined if it is not one */
export function capiClusterOf(object: unknown): CapiCluster | undefined {
  const { metadata, spec } = mappingOrEmpty(object);
  const { name, namespace, deletionTimestamp } = mappingOrEmpty(metadata);
  if (!isName(name) || !isName(namespace)) return undefined;
  const controlPlane = referenceOf(mappingOrEmpty(spec).controlPlaneRef, namespace);
  return {
    name,
    namespace,
    deleting: deletionTimestamp !== undefined,
    controlPlane,
  };
}

/** @returns undefined if it is none, or of another API group: anybody can define a kind of the same name */
function referenceOf(value: unknown, namespace: string): ObjectReference | undefined {
  const { apiVersion, apiGroup, kind, name } = mappingOrEmpty(value);
  if (typeof kind !== 'string' || !isName(name)) return undefined;
  if (typeof apiGroup === 'string')
    return apiGroup === controlPlaneGroup ? { kind, namespace, name } : undefined;
  const [group, version = ''] = typeof apiVersion === 'string' ? apiVersion.split('/') : [];
  if (group !== controlPlaneGroup || !/^v\d+((alpha|beta)\d+)?$/.test(version)) return undefined;
  return { version, kind, namespace, name };
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && isObjectName(value);
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
