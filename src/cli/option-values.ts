import type { NameKind } from './known-names.ts';

/** What the value of an option or a positional argument is. `text`: nothing that this host knows. */
export type ValueKind = NameKind | 'file' | 'directory' | 'text';

/**
 * By option, by command and option, or by command and argument. An option that has a fixed set of values has them as yargs'
 * `choices`, and is not here.
 */
export const valueKinds: Readonly<Record<string, ValueKind>> = {
  '--user': 'user',
  '--cluster': 'cluster',
  '--profile': 'profile',
  '--kind': 'balancer-kind',
  '--balancer': 'balancer',
  '--group': 'group',
  'explain word': 'explained',
  'sessions show session': 'user',
  'sessions end session': 'user',
  'sshd new name': 'sshd-kind',
  'sshd check name': 'sshd-kind',
  'subid plan user': 'user',
  'subid apply user': 'user',
  'images pull image': 'image',
  'init login-node --image': 'image',
  'init login-node --address': 'address',
  'sshd new --address': 'address',

  '--config': 'file',
  '--settings': 'file',
  '--kubeconfig': 'file',
  '--parameters': 'file',
  '--ca-file': 'file',
  '--ca': 'file',
  '--host-key': 'file',
  '--banner': 'file',
  '--login': 'file',
  '--pam': 'file',
  '--sshd': 'file',
  '--haproxy': 'file',
  '--kubectl': 'file',
  '--write': 'file',
  '--textfile': 'file',
  '--auth-file': 'file',
  '--from-archive': 'file',
  '--from-osc': 'file',
  '--users-from': 'file',
  'token setup --from': 'file',

  '--config-dir': 'directory',
  '--site': 'directory',
  '--storage': 'directory',
  '--prefix': 'directory',
  '--to': 'directory',
  '--ood-directory': 'directory',
  '--clusters-dir': 'directory',
  '--ca-dir': 'directory',

  '--port': 'text',
  '--uid': 'text',
  '--gid': 'text',
  '--groups': 'text',
  '--min-uid': 'text',
  '--max-uid': 'text',
  '--first-uid': 'text',
  '--base': 'text',
  '--size': 'text',
  '--max-pods': 'text',
  '--max-namespaces': 'text',
  '--timeout': 'text',
  '--lock-timeout': 'text',
  '--lifetime': 'text',
  '--validity': 'text',
  '--grace': 'text',
  '--deadline': 'text',
  '--idle-over': 'text',
  '--unused-after': 'text',
  '--last-used-threshold': 'text',
  '--namespace-regexp': 'text',
  '--message': 'text',
  '--reason': 'text',
  '--command': 'text',
  '--name': 'text',
  '--subject-prefix': 'text',
  '--audience': 'text',
  '--issuer': 'text',
  '--context': 'text',
  '--namespace': 'text',
  '--namespace-selector': 'text',
  '--pod-selector': 'text',
  '--service-account': 'text',
  '--prometheus': 'text',
  '--prometheus-matchers': 'text',
  '--kubernetes': 'text',
  '--image': 'text',
  '--git-url': 'text',
  '--accept': 'text',
  '--address': 'text',
  '--from': 'text',
  '--principal': 'text',
  '--identity': 'text',
};

/**
 * What a value is.
 *
 * @param path of the command, without `berth`
 * @param names of the option or argument
 * @returns undefined for what the table does not have
 */
export function valueKind(
  path: readonly string[],
  names: readonly string[],
): ValueKind | undefined {
  const found = names.map((name) => valueKinds[[...path, name].join(' ')] ?? valueKinds[name]);
  return found.find((kind) => kind !== undefined);
}
