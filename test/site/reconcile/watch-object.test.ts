import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ApiServer } from '../../../src/kube/api-server.ts';
import { watchObject, type WatchEvent } from '../../../src/kube/watch-object.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { openSite } from '../../rig/site/site.ts';

const namespace = 'watch-object';
const collection = `/api/v1/namespaces/${namespace}/configmaps`;

let cluster: LiveCluster;
let server: ApiServer;
beforeAll(async () => {
  const site = await openSite();
  cluster = new LiveCluster(site);
  await cluster.deleteNamespacesAndWait([namespace]);
  await cluster.kubectl(['create', 'namespace', namespace]);
  await cluster.kubectl(['create', 'serviceaccount', 'watcher', '-n', namespace]);
  await cluster.kubectl([
    ...['create', 'rolebinding', 'watcher', '-n', namespace],
    ...['--clusterrole=view', `--serviceaccount=${namespace}:watcher`],
  ]);
  const token = await cluster.kubectl(['create', 'token', 'watcher', '-n', namespace]);
  server = { url: site.server, ca: site.ca.pem, token: token.trim() };
});
afterAll(() => cluster.deleteNamespaces([namespace]));

const change = (verb: string, name: string, ...more: readonly string[]): Promise<string> =>
  cluster.kubectl([verb, 'configmap', name, '-n', namespace, ...more]);

/** The types of the events up to the first that ends the watch. */
async function events(
  name: string,
  since: string | undefined,
  last: WatchEvent['type'],
  seen: (type: WatchEvent['type']) => Promise<unknown> = () => Promise.resolve(),
): Promise<string[]> {
  const types: string[] = [];
  const signal = AbortSignal.timeout(10_000);
  for await (const { type } of watchObject(server, collection, name, { signal, since })) {
    types.push(type);
    if (type === last) break;
    await seen(type);
  }
  return types;
}

it('an object that does not exist is deleted, and is not waited for', async () => {
  expect(await events('missing', undefined, 'DELETED')).toEqual(['DELETED']);
});

it('an object is seen as it is, then its changes', async () => {
  await change('create', 'changed');
  const types = await events('changed', undefined, 'MODIFIED', () =>
    change('annotate', 'changed', 'example.org/new=1'),
  );
  expect(types).toEqual(['ADDED', 'MODIFIED']);
});

it('an object that is deleted before the watch begins is seen to be deleted', async () => {
  await change('create', 'brief');
  const { metadata } = (await cluster.get('configmap', 'brief', namespace)) ?? {};
  await change('delete', 'brief');
  expect(await events('brief', metadata?.resourceVersion, 'DELETED')).toEqual(['DELETED']);
});
