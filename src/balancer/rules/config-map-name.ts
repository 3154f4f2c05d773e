import { createHash } from 'node:crypto';

/**
 * The name that Kustomize gives a generated ConfigMap: with other contents it is another object, so that a change of
 * the configuration makes new pods. As in sigs.k8s.io/kustomize/api/hasher.
 */
export function configMapName(name: string, data: Readonly<Record<string, string>>): string {
  const sorted = Object.fromEntries(Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1)));
  // Its hash is of an empty name. Go's encoding/json escapes these characters.
  const json = JSON.stringify({ data: sorted, kind: 'ConfigMap', name: '' }).replaceAll(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const letters: Readonly<Record<string, string>> = { 0: 'g', 1: 'h', 3: 'k', a: 'm', e: 't' };
  const digest = createHash('sha256').update(json).digest('hex').slice(0, 10);
  return `${name}-${digest.replaceAll(/[013ae]/g, (digit) => letters[digit] ?? digit)}`;
}
