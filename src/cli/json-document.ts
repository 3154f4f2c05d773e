import { apiVersion } from './api-version.ts';
import { escapeInvisible } from './terminal.ts';

/** What commands print with `-o json`. */
export type DocumentKind =
  | 'ClusterDiscovery'
  | 'ClusterReap'
  | 'ConfigurationKeys'
  | 'DoctorReport'
  | 'ErrorCodes'
  | 'HostCertificates'
  | 'ImageGarbage'
  | 'ImagePull'
  | 'LdapSync'
  | 'LintReport'
  | 'LoginPlan'
  | 'NodeStatus'
  | 'Reap'
  | 'SessionList'
  | 'SessionPlan'
  | 'SshdKind'
  | 'SshdKindList'
  | 'SubidPlan'
  | 'TokenReport'
  | 'Version';

/**
 * A document for scripts, with its kind as Kubernetes objects have it.
 *
 * @param fields without `apiVersion` and `kind`
 * @param write `stringify` of yaml for commands that print YAML too: most commands do not load it
 */
export function documentText(
  kind: DocumentKind,
  fields: object,
  write: (document: object) => string = json,
): string {
  return escapeInvisible(write({ apiVersion, kind, ...fields }));
}

/** The text of a document in JSON. */
export function json(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
