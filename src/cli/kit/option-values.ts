import type { NameKind } from '../known-names.ts';

/** What the value of an option or a positional argument is; in capitals, what help calls one that this host does not know. */
export type ValueKind = NameKind | 'file' | 'directory' | Placeholder;

type Placeholder = Uppercase<string>;

export function isPlaceholder(kind: ValueKind): kind is Placeholder {
  return kind === kind.toUpperCase();
}

/** How help names a value: `FILE`, `text|json`. */
export function placeholderOf(kind: ValueKind | undefined, choices: readonly string[]): string {
  if (choices.length > 0) return choices.join('|');
  if (kind === 'directory') return 'DIR';
  return kind === undefined ? 'VALUE' : kind.replace(/^.*-/, '').toUpperCase();
}

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
  '--sshd-config': 'file',
  '--list': 'file',
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
  'render site directory': 'directory',
  '--storage': 'directory',
  '--prefix': 'directory',
  '--to': 'directory',
  '--ood-directory': 'directory',
  '--clusters-dir': 'directory',
  '--ca-dir': 'directory',
  '--osc-scripts': 'directory',

  '--port': 'PORT',
  '--uid': 'UID',
  '--gid': 'GID',
  '--groups': 'GID',
  '--min-uid': 'UID',
  '--max-uid': 'UID',
  '--first-uid': 'UID',
  '--base': 'ID',
  '--size': 'COUNT',
  '--max-pods': 'COUNT',
  '--max-namespaces': 'COUNT',
  '--timeout': 'TIME',
  '--lock-timeout': 'TIME',
  '--lifetime': 'TIME',
  '--validity': 'TIME',
  '--grace': 'TIME',
  '--deadline': 'TIME',
  '--idle-over': 'TIME',
  '--unused-after': 'TIME',
  '--last-used-threshold': 'TIME',
  '--namespace-regexp': 'PATTERN',
  '--message': 'TEXT',
  '--reason': 'TEXT',
  '--command': 'COMMAND',
  '--name': 'NAME',
  '--namespace-prefix': 'PREFIX',
  '--subject-prefix': 'PREFIX',
  '--audience': 'AUDIENCE',
  '--exchange-scope': 'SCOPE',
  '--issuer': 'URL',
  '--context': 'CONTEXT',
  '--namespace': 'NAMESPACE',
  '--namespace-selector': 'SELECTOR',
  '--pod-selector': 'SELECTOR',
  '--service-account': 'NAMESPACE/NAME',
  '--prometheus': 'URL',
  '--prometheus-matchers': 'MATCHERS',
  '--kubernetes': 'VERSION',
  '--image': 'IMAGE',
  '--git-url': 'URL',
  '--accept': 'CODE',
  '--address': 'ADDRESS',
  '--from': 'ADDRESS',
  '--principal': 'HOST',
  '--identity': 'TEXT',
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
