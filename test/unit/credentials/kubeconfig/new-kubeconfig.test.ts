import { describe, expect, it } from 'vitest';
import { setKubeconfigEntries } from '../../../../src/credentials/kubeconfig/kubeconfig-edit.ts';
import {
  clusterEntry,
  execUser,
  type KubeconfigEntries,
} from '../../../../src/credentials/kubeconfig/kubeconfig-entries.ts';
import { newKubeconfig } from '../../../../src/credentials/kubeconfig/update-kubeconfig.ts';

const entries = (cluster: string, user: string): KubeconfigEntries => ({
  user: { name: user, value: execUser('/usr/lib/berth/shell/kube-credential', ['--x', 'a: b']) },
  cluster: {
    name: cluster,
    value: clusterEntry({ endpoint: 'https://[::1]:6443', caFile: '/ca' }),
  },
  context: { name: cluster, value: { cluster, namespace: 'u-alice', user } },
  currentContextIfUnset: cluster,
});

describe('the kubeconfig of a user who has none', () => {
  it.each([
    ['one cluster', [entries('prod', 'alice')]],
    ['two clusters that share a user entry', [entries('prod', 'alice'), entries('no', 'alice')]],
    [
      'names that YAML would read as something else',
      [entries('on', '1e3'), entries('# x', 'ü: @')],
    ],
    ['a user entry alone', [{ user: { name: 'alice', value: { token: 'x' } } }]],
  ])('is what editing an empty file gives: %s', (_, wanted) => {
    expect(newKubeconfig(wanted)).toBe(setKubeconfigEntries('', wanted).text);
  });
});
