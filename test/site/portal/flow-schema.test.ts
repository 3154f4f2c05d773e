import { parse } from 'yaml';
import { expect, it } from 'vitest';
import { send } from '../../rig/site/https.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { hookKubeconfig, Portal } from '../../rig/site/portal.ts';
import { openSite } from '../../rig/site/site.ts';

it("the hook's requests have a FlowSchema of their own, with a priority above that of programs in pods", async () => {
  const site = await openSite();
  const portal = await Portal.make(site);
  try {
    const cluster = new LiveCluster(site);
    const schema = await cluster.get('flowschema', 'berth-hook');
    const level = await cluster.get('prioritylevelconfiguration', 'workload-high');
    const { users } = parse(await hookKubeconfig(site)) as { users: [{ user: { token: string } }] };
    const [{ user }] = users;

    const headers = async (): Promise<object> => {
      const authorization = `Bearer ${user.token}`;
      const url = `${site.server}/api/v1/namespaces/default`;
      return (await send(url, { ca: site.ca.pem, headers: { authorization } })).headers;
    };

    // The API server takes a new FlowSchema into account a moment later.
    await expect.poll(headers).toMatchObject({
      'x-kubernetes-pf-flowschema-uid': schema?.metadata.uid,
      'x-kubernetes-pf-prioritylevel-uid': level?.metadata.uid,
    });
  } finally {
    await portal.remove();
  }
});
