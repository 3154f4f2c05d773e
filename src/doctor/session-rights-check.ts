import type { ClusterSettings } from '../config/schema/settings.ts';
import { sessionServiceAccount } from '../kube/objects/well-known-names.ts';
import type { ApiClient } from '../kube/api-client.ts';
import { type Right, rightText, tokenRight } from '../kube/required-rights.ts';
import { canI } from '../kube/self-subject-review.ts';
import { failed, type Finding, ok } from '../check-result.ts';
import { loginAccountHint } from './rights-checks.ts';
import { installedPath } from '../installed-path.ts';

/**
 * Whether `pam-session` has the rights that the portal's hook does not need: to issue tokens of the
 * sessions' account, bound to a Secret that it creates and deletes.
 */
export async function sessionRightsFinding(
  client: ApiClient,
  { sshSessions }: ClusterSettings,
  namespace: string,
): Promise<Finding> {
  const secret = sshSessions?.secret ?? '';
  const onSecret = ['create', 'patch', 'delete'].map((verb): Right => ({
    verb,
    group: '',
    resource: 'secrets',
    name: secret,
    namespace,
  }));
  const rights = [tokenRight(namespace, sessionServiceAccount), ...onSecret];
  const verdicts = await Promise.all(rights.map((right) => canI(client, right)));
  const missing = rights.filter((_, index) => verdicts[index] === false);
  if (missing.length === 0)
    return ok(`tokens of ${sessionServiceAccount} can be issued and revoked`);
  const isNamed = missing.length < rights.length;
  return failed(
    `sessions in pods are not possible, missing rights: ${missing.map(rightText).join('; ')}`,
    isNamed
      ? `Name the Secret ${secret} in the resourceNames of ${installedPath('share/etc/kubernetes/ssh-sessions/ssh-sessions.yaml')}, or leave out ssh_sessions.secret.`
      : loginAccountHint,
  );
}
