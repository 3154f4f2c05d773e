import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { AuditEvent, AuditMark } from './kubernetes/audit.ts';
import type { Portal } from './portal.ts';

/**
 * The requests made with the token of this portal's hook since the mark. The hooks of other tests have the
 * same user name but other tokens.
 */
export async function hookRequests(
  portal: Portal,
  mark: AuditMark,
): Promise<readonly AuditEvent[]> {
  const kubeconfig = parse(await readFile(portal.files.kubeconfig, 'utf8')) as {
    users: readonly { user: { token: string } }[];
  };
  const tokens = kubeconfig.users.map(({ user }) => credentialId(user.token));
  return (await portal.site.audit.since(mark)).filter((event) =>
    tokens.includes(credentialOf(event)),
  );
}

/** The ID of a ServiceAccount token in the audit log (KEP-4193). */
export function credentialId(token: string): string {
  const [, claims = ''] = token.split('.');
  const { jti } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { jti: string };
  return `JTI=${jti}`;
}

/** The ID of the ServiceAccount token of a request; empty for other credentials. */
export function credentialOf({ user }: AuditEvent): string {
  return user.extra?.['authentication.kubernetes.io/credential-id']?.[0] ?? '';
}

/** `patch namespaces u-alice`, `create serviceaccounts/token …`: a request in one line. */
export function describeRequest({ verb, objectRef = {} }: AuditEvent): string {
  const { resource = '', subresource, name } = objectRef;
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  return [verb, what, ...(name === undefined ? [] : [name])].join(' ');
}
