import type { CommandPlace } from './command-place.ts';

/** Which options a command does not use, by what else is given. Some name a value: `--for kubernetes`. */
interface OptionRules {
  /** Options that have an effect only with another one. */
  readonly needs?: Readonly<Record<string, string>>;
  /** Options that have no effect, or no meaning, with one of these. */
  readonly without?: Readonly<Record<string, readonly string[]>>;
}

/** By command. yargs' own `implies` and `conflicts` take a default for an option that was given. */
export const optionRules: Readonly<Record<string, OptionRules>> = {
  'clusters reap': {
    needs: {
      '--max-namespaces': '--unused-after',
      '--delete-claims': '--unused-after',
      '--last-used-threshold': '--unused-after',
      '--namespace-regexp': '--unused-after',
      '--prometheus': '--unused-after',
      '--prometheus-matchers': '--prometheus',
    },
    without: {
      '--in-cluster': ['--cluster', '--all-clusters', '--config', '--config-dir'],
      '--cluster': ['--all-clusters'],
      '--textfile': ['--dry-run'],
    },
  },
  doctor: {
    needs: { '--start-session': '--user' },
    without: { '--start-session': ['--config-dir'] },
  },
  'images pull': {
    needs: { '--yes': '--from-archive' },
    without: { '--auth-file': ['--from-archive'] },
  },
  'init login-node': { without: { '--pull': ['--from-archive'] } },
  'init portal': {
    needs: { '--osc-scripts': '--from-osc' },
    without: { '--exchange-scope': ['--token access', '--token id'] },
  },
  'ldap-sync': { without: { '--cluster': ['--in-cluster'], '--textfile': ['--dry-run'] } },
  plan: {
    needs: { '--profile': '--ssh', '--command': '--ssh', '--tty': '--ssh', '--port': '--ssh' },
    without: { '--cluster': ['--ssh'] },
  },
  reap: { without: { '--textfile': ['--dry-run'] } },
  render: { needs: { '--uid': '--gid', '--gid': '--uid', '--groups': '--uid' } },
  'render balancer': {
    needs: { '--overwrite': '--write', '--haproxy': '--write', '--no-check-nodes': '--write' },
    without: {
      '--write': ['--for kubernetes', '--config-dir'],
      '--balancer': ['--for kubernetes'],
      '--list': ['--config-dir'],
      '--check-nodes': ['--no-check-nodes'],
    },
  },
  'render policies': {
    without: { '--kubernetes': ['--engine kyverno'], '--parameters': ['--config-dir'] },
  },
  'sessions list': { without: { '--no-headers': ['--output json', '--output yaml'] } },
  'sshd new': { without: { '--profile': ['--mode login-shell'] } },
  'subid apply': { needs: { '--storage': '--directories' } },
  'subid plan': { needs: { '--storage': '--directories' } },
  'token rotate': {
    needs: { '--context': '--kubeconfig' },
    without: { '--kubeconfig': ['--cluster', '--config', '--config-dir'] },
  },
  'token setup': { needs: { '--context': '--from' } },
};

/** @returns which option would be ignored, and why; undefined if none */
export function ignoredOption({ path, given }: CommandPlace): string | undefined {
  const { needs = {}, without = {} } = optionRules[path.join(' ')] ?? {};
  const words = new Set(
    given.flatMap(([{ names }, value]) => [names[0] ?? '', `${names[0]} ${value}`]),
  );
  const lacking = Object.entries(needs).find(
    ([option, other]) => words.has(option) && !words.has(other),
  );
  if (lacking !== undefined) return lacking.join(' needs ');
  for (const [option, others] of Object.entries(without)) {
    const other = words.has(option) ? others.find((one) => words.has(one)) : undefined;
    if (other !== undefined) return `${option} cannot be used with ${other}`;
  }
  return undefined;
}
