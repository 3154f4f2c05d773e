import { expect, it } from 'vitest';
import { parseOodCluster } from '../../../src/config/schema/ood-cluster-file.ts';
import { parseYaml } from '../../../src/config/schema/yaml-document.ts';
import { clustersDExample } from '../../../scripts/man/file-pages.ts';

it('the example of berth-clusters.d(5) is a cluster that Berth can use', () => {
  const document = parseYaml(clustersDExample.join('\n'), 'prod.yml', 'psych');
  expect(parseOodCluster(document, 'prod', 'prod.yml')).toMatchObject({
    auth: 'oidc',
    namespacePrefix: 'user-',
  });
});
