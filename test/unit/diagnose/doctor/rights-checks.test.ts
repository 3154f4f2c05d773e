import { expect, it } from 'vitest';
import type { ClusterSettings } from '../../../../src/config/schema/settings.ts';
import { userObjectsOn } from '../../../../src/clusters/access/bootstrap-user.ts';
import { rightsFinding } from '../../../../src/diagnose/doctor/rights-checks.ts';
import type { ApiClient } from '../../../../src/kube/api-client.ts';
import { exampleCluster, exampleUser } from '../../example-cluster.ts';

const cluster: ClusterSettings = {
  ...exampleCluster,
  credentials: { mode: 'service-account', name: 'site-user', lifetimeSeconds: 3600 },
};

/** What doctor says next if the hook has all rights except those to accounts of these names. */
async function nextWithout(...names: readonly string[]): Promise<string | undefined> {
  const client: ApiClient = {
    send: ({ body = '' }) => {
      const { spec } = JSON.parse(body) as {
        spec: { resourceAttributes: { resource: string; name?: string } };
      };
      const { resource, name = '' } = spec.resourceAttributes;
      const allowed = resource !== 'serviceaccounts' || !names.includes(name);
      return Promise.resolve({ status: 201, headers: {}, body: { status: { allowed } } });
    },
    close: () => undefined,
  };
  const objects = userObjectsOn({ user: exampleUser, cluster, now: 1 });
  const hook = 'system:serviceaccount:ondemand:berth-hook';
  const finding = await rightsFinding(client, objects, cluster, hook);
  return finding.status === 'failed' ? finding.next : undefined;
}

const roles = /`kubectl apply -k \S+\/share\/etc\/kubernetes`/;
const tokens =
  /resourceNames in \S+\/service-account-tokens\.yaml names site-user, then run `kubectl apply -f \S+\/service-account-tokens\.yaml`/;

it("a missing right to the users' account is in the manifest that is applied by itself", async () => {
  const next = await nextWithout('site-user');
  expect(next).toMatch(tokens);
  expect(next).not.toMatch(roles);
});

it("a missing right to the hook's own token is not", async () => {
  const next = await nextWithout('berth-hook');
  expect(next).toMatch(roles);
  expect(next).not.toMatch(tokens);
  expect(await nextWithout('berth-hook', 'site-user')).toMatch(roles);
});
