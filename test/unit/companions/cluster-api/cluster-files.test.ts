import { describe, expect, it } from 'vitest';
import {
  clusterFileText,
  madeFrom,
} from '../../../../src/companions/cluster-api/rules/cluster-files.ts';

describe("OnDemand's file of a cluster", () => {
  it('says which Cluster it was made from, also after it was edited', () => {
    const found = {
      cluster: { namespace: 'fleet', name: 'a', deleting: false },
      ...{ name: 'a', endpoint: 'https://192.0.2.1:6443', ca: 'PEM' },
    };
    const text = clusterFileText(found, '/etc/berth/clusters/a.pem');
    expect(madeFrom(text)).toEqual({ namespace: 'fleet', name: 'a' });
    const moved = clusterFileText(
      { ...found, endpoint: 'https://192.0.2.2:6443' },
      '/etc/berth/clusters/a.pem',
      text.replace('bin: /usr/bin/kubectl', 'bin: /opt/kubectl # ours'),
    );
    expect(moved).toContain('bin: /opt/kubectl # ours\n');
    expect(moved).toContain('endpoint: https://192.0.2.2:6443\n');
    expect(madeFrom('v2: {}\n')).toBeUndefined();
  });
});
