import { LiveCluster } from '../site/live-cluster.ts';
import type { Site } from '../site/site.ts';

const component = new URL('../../../etc/kubernetes/jupyterhub', import.meta.url).pathname;

/** The key of berth.yml for the hub's account below. */
export const hubKey = { jupyterhub: { namespace: 'jupyterhub', service_account: 'hub' } };

/** Makes the hub's namespace and account, and installs what lets it into the users' namespaces. */
export async function installHub(site: Site): Promise<void> {
  const cluster = new LiveCluster(site);
  await cluster.deleteNamespacesAndWait(['jupyterhub']);
  const named = (kind: string, metadata: object): object => ({ apiVersion: 'v1', kind, metadata });
  await cluster.create(
    named('Namespace', { name: 'jupyterhub' }),
    named('ServiceAccount', { name: 'hub', namespace: 'jupyterhub' }),
  );
  await cluster.kubectl(['apply', '-k', component]);
}

export async function removeHub(site: Site): Promise<void> {
  const cluster = new LiveCluster(site);
  await cluster.kubectl(['delete', '--ignore-not-found', '-k', component]);
  await cluster.deleteNamespaces(['jupyterhub']);
}
