/** OnDemand's default for `config_file`, relative to the home. */
export const defaultKubeconfig = '.kube/config';

/**
 * `config_file` of a cluster as a path, or why it is invalid. The path is relative to the home if the text
 * begins with `~/`, `$HOME/` or `${HOME}/`, otherwise absolute; whether an absolute one is below the home is
 * checked later, for each user. Special characters are refused, because OnDemand passes the text to a shell
 * (ood_core, batch.rb, `--kubeconfig=#{config_file}`).
 */
export function kubeconfigPath(
  text: string,
): { readonly path: string } | { readonly problem: string } {
  const below = /^(?:~|\$HOME|\$\{HOME\})\/(.*)$/s.exec(text)?.[1];
  const rest = below ?? text;
  if (!/^[\w@%+=:,./-]*$/.test(rest)) return { problem: 'has characters that a shell interprets' };
  if (below === undefined && !rest.startsWith('/'))
    return { problem: 'is not a path below the home directory' };
  if (/(?:^|\/)\.{0,2}$/.test(rest)) return { problem: 'does not name a file' };
  const parts: string[] = [];
  for (const part of rest.split('/')) {
    if (part === '..') {
      if (parts.pop() === undefined) return { problem: 'leads out of the home directory' };
    } else if (part !== '' && part !== '.') parts.push(part);
  }
  const path = parts.join('/');
  return { path: below === undefined ? `/${path}` : path };
}
