import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { prometheusOperatorCrds } from '../../rig/prometheus-operator/crds.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { openSite } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';

const manifests = new URL('../../../etc/kubernetes/', import.meta.url).pathname;
const component = join(manifests, 'monitoring');

let cluster: LiveCluster;
let crds: readonly string[];

beforeAll(async () => {
  cluster = new LiveCluster(await openSite());
  // The namespace.
  await cluster.kubectl(['apply', '-k', manifests]);
  crds = await prometheusOperatorCrds();
  for (const crd of crds) await cluster.kubectl(['apply', '--server-side', '-f', crd]);
});
afterAll(async () => {
  for (const crd of crds) await cluster.deleteCrds(['-f', crd]);
});

it('is what the Prometheus operator accepts, field by field', async () => {
  const kinds = ['podmonitors', 'prometheusrules'].map(
    (kind) => `crd/${kind}.monitoring.coreos.com`,
  );
  await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=30s', ...kinds]);

  const applied = await waitFor({ what: 'the new kinds', timeoutMs: 60_000 }, () =>
    cluster.kubectl(['apply', '--dry-run=server', '--validate=strict', '-k', component]),
  );

  expect(applied).toContain('podmonitor.monitoring.coreos.com/ssh-balancer created');
  expect(applied).toContain('prometheusrule.monitoring.coreos.com/berth created');
});
