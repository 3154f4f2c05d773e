import type { JsonObject } from '../../config/settings.ts';
import {
  entriesOf,
  kubeconfigLists,
  type KubeconfigEntries,
  type ListKey,
} from './kubeconfig-entries.ts';
import { blockItem, blockPair } from './text-splices.ts';

/**
 * The kubeconfig for a user who has none: equal to the result of `setKubeconfigEntries` for an empty
 * file, without loading the YAML parser, which takes longer than the requests of a first login.
 */
export function newKubeconfig(wanted: readonly KubeconfigEntries[]): string {
  const lists = (Object.keys(kubeconfigLists) as ListKey[]).flatMap((list) => {
    const items = entriesOf(list, wanted).map(({ name, value }): JsonObject => ({
      name,
      [kubeconfigLists[list]]: value,
    }));
    return items.length === 0 ? [] : [`${list}:`, ...items.flatMap((item) => blockItem(item, 0))];
  });
  const context = wanted.find((entry) => entry.currentContextIfUnset !== undefined);
  const current =
    context?.currentContextIfUnset === undefined
      ? []
      : blockPair('current-context', context.currentContextIfUnset, 0);
  return ['apiVersion: v1', 'kind: Config', 'preferences: {}', ...lists, ...current, ''].join('\n');
}
