import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { AuditEvent, AuditMark } from './kubernetes/audit.ts';
import type { Portal } from './portal.ts';

/**
 * The requests that were made with the token of this portal's hook since the mark. Hooks of others
 * have the same name at the API server, but not the same token.
 */
export async function requestsOf(portal: Portal, mark: AuditMark): Promise<readonly AuditEvent[]> {
  const kubeconfig = parse(await readFile(portal.files.kubeconfig, 'utf8')) as {
    users: readonly { user: { token: string } }[];
  };
  const tokens = kubeconfig.users.map(({ user }) => credentialId(user.token));
  return (await portal.site.audit.since(mark)).filter((event) =>
    tokens.includes(credentialOf(event)),
  );
}

/** What the API server calls a ServiceAccount's token in its audit log (KEP-4193). */
export function credentialId(token: string): string {
  const [, claims = ''] = token.split('.');
  const { jti } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { jti: string };
  return `JTI=${jti}`;
}

/** The credential that a request came with; empty where it was no ServiceAccount's token. */
export function credentialOf({ user }: AuditEvent): string {
  return user.extra?.['authentication.kubernetes.io/credential-id']?.[0] ?? '';
}

/** `patch namespaces u-alice`, `create serviceaccounts/token …`: a request in one line. */
export function inWords({ verb, objectRef = {} }: AuditEvent): string {
  const { resource = '', subresource, name } = objectRef;
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  return [verb, what, ...(name === undefined ? [] : [name])].join(' ');
}
