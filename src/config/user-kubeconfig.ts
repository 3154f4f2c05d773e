/** Where OnDemand's adapter looks when `config_file` is not said: below the home. */
export const defaultKubeconfig = '.kube/config';

/**
 * `config_file` of a cluster as a path, or what is wrong with it. Relative to the home where it begins
 * with `~/`, `$HOME/` or `${HOME}/`, else absolute: whether that is below the home is known with the
 * user. Of other signs none is taken, for OnDemand hands the text to a shell (ood_core, batch.rb,
 * `--kubeconfig=#{config_file}`).
 */
export function kubeconfigPath(
  text: string,
): { readonly path: string } | { readonly problem: string } {
  const below = /^(?:~|\$HOME|\$\{HOME\})\/(.*)$/s.exec(text)?.[1];
  const rest = below ?? text;
  if (!/^[\w@%+=:,./-]*$/.test(rest)) return { problem: 'has signs that a shell reads' };
  if (below === undefined && !rest.startsWith('/')) return { problem: 'is no path below the home' };
  if (/(?:^|\/)\.{0,2}$/.test(rest)) return { problem: 'names no file' };
  const parts: string[] = [];
  for (const part of rest.split('/')) {
    if (part === '..') {
      if (parts.pop() === undefined) return { problem: 'leads out of the home' };
    } else if (part !== '' && part !== '.') parts.push(part);
  }
  const path = parts.join('/');
  return { path: below === undefined ? `/${path}` : path };
}
