import { stringify } from 'yaml';
import { countText } from '../../../system/text/count-text.ts';
import { BerthError } from '../../../system/errors/berth-error.ts';

/** Bytes of all values: what the API server accepts (`MaxSecretSize` in Kubernetes' pkg/apis/core). */
const most = 1024 * 1024;

/**
 * The pages as the ConfigMap that the component `pages` serves.
 *
 * @throws {BerthError} `pages-too-large`
 */
export function pagesConfigMap(files: readonly { path: string; text: string }[]): string {
  const size = (text: string): number => new TextEncoder().encode(text).length;
  const all = files.reduce((sum, { text }) => sum + size(text), 0);
  const [largest] = [...files].sort((a, b) => size(b.text) - size(a.text));
  if (largest !== undefined && all > most)
    throw new BerthError(
      'pages-too-large',
      `the pages have ${countText(all, 'byte')}, and a ConfigMap holds ${countText(most, 'byte')} at most; the largest is ${largest.path} with ${countText(size(largest.text), 'byte')}`,
    );
  return stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'berth-pages', namespace: 'ondemand' },
    data: Object.fromEntries(files.map(({ path, text }) => [path, text])),
  });
}
