import { shownWords } from '../config/schema/hide-secrets.ts';
import { parseKubeconfig } from '../credentials/kubeconfig/kubeconfig-document.ts';

/** Fields of a kubeconfig that hold credentials. */
const secretFields = [
  'token',
  'password',
  'client-key-data',
  'client-secret',
  'id-token',
  'access-token',
  'refresh-token',
  // In the environment (`env`) of an exec entry.
  'value',
];

const inline = new RegExp(
  `((?:^|[\\s{,'"-])(?:${secretFields.join('|')})["']?\\s*:\\s*)("(?:[^"\\\\]|\\\\.)*"|'(?:[^']|'')*'|[^\\s,}#|>][^\\s,}]*)`,
  'g',
);

/**
 * A kubeconfig before and after a change, with each secret replaced by `***`. Secrets are found by their
 * field and, in whatever notation of YAML, by their value.
 *
 * @throws as `parseKubeconfig`
 */
export function redactSecrets(before: string, after: string): [string, string] {
  const known = new Set(
    [before, after].flatMap((text) => secretsOf(parseKubeconfig(text, 'the kubeconfig').values)),
  );
  const redact = (text: string): string => {
    const masked = text.replace(inline, (_, field: string) => `${field}***`);
    return [...known].reduce((rest, secret) => rest.replaceAll(secret, '***'), masked);
  };
  return [redact(before), redact(after)];
}

/** Every line of every secret value, longest first. */
function secretsOf(value: unknown): string[] {
  const found: string[] = [];
  const walk = (node: unknown): void => {
    if (Array.isArray(node)) node.forEach(walk);
    else if (typeof node === 'object' && node !== null) {
      for (const [key, child] of Object.entries(node)) {
        if (secretFields.includes(key) && typeof child === 'string')
          found.push(...child.split('\n').filter((line) => line.length > 3));
        else if (key === 'args' && Array.isArray(child)) found.push(...secretWords(child));
        else walk(child);
      }
    }
  };
  walk(value);
  return found.sort((a, b) => b.length - a.length);
}

/** What `shownWords` hides in the arguments of an exec entry: kubelogin has its client's secret there. */
function secretWords(args: readonly unknown[]): string[] {
  const words = args.map(String);
  const shown = shownWords(words);
  return words.filter((word, index) => word.length > 3 && word !== shown[index]);
}
