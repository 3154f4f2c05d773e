import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { send } from '../../rig/site/https.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { SyncSite } from './sync-site.ts';

let site: Site;
let host: SyncSite;
let token: string;

const prefix = 'openondemand.org/';

beforeAll(async () => {
  site = await openSite();
  host = await SyncSite.make(site);
  const account = ['-n', 'ondemand', 'create', 'token', 'berth-ldap-sync'];
  token = (await host.cluster.kubectl(account)).trim();
  await host.makeNamespaces(['anna']);
  await waitFor({ what: 'the guard', timeoutMs: 60_000 }, async () =>
    (await patch('kube-public', { x: 'y' })).status === 422 ? true : undefined,
  );
});
afterAll(() => host.remove());

async function request(
  method: string,
  path: string,
  body?: object,
): Promise<{ readonly status: number; readonly text: string }> {
  return send(`${site.server}${path}`, {
    ...{ method, ca: site.ca.pem },
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

function patch(
  namespace: string,
  annotations: object,
  more: object = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const body = { metadata: { annotations, ...more } };
  return request('PATCH', `/api/v1/namespaces/${namespace}?dryRun=All`, body);
}

describe('with a stolen token of ldap-sync one can', () => {
  it('write UID, GID, groups and the removed mark of a user', async () => {
    const values = { uid: '20001', gid: '100', groups: '100,200', removed: '1700000000' };
    const annotations = Object.fromEntries(
      Object.entries(values).map(([key, value]) => [prefix + key, value]),
    );
    expect((await patch(host.namespaceOf('anna'), annotations)).status).toBe(200);
  });

  it.each<[string, object, object?]>([
    ['make a user root', { 'openondemand.org/uid': '0' }],
    ['make a user a system account', { 'openondemand.org/uid': '999' }],
    ['put a user into the group of root', { 'openondemand.org/groups': '0,100' }],
    ['write a value that is not a number', { 'openondemand.org/gid': '100 # 0' }],
    ['give the namespace to somebody else', { 'openondemand.org/owner': 'mallory' }],
    ['make it look used', { 'openondemand.org/last-hook-execution': '1' }],
    ['write any other annotation', { 'scheduler.alpha.kubernetes.io/node-selector': 'x=y' }],
    ['take the label of the security standard away', {}, { labels: { x: 'y' } }],
    ['keep it from ever going', {}, { finalizers: ['x.example.org/y'] }],
  ])('and cannot %s', async (_, annotations, more) => {
    const { status, text } = await patch(host.namespaceOf('anna'), annotations, more);
    expect([status, text]).toEqual([422, expect.stringContaining('berth-ldap-sync-guard')]);
  });

  it.each(['kube-system', 'ondemand'])('and nothing in %s', async (namespace) => {
    const { status, text } = await patch(namespace, { 'openondemand.org/uid': '20001' });
    expect([status, text]).toEqual([422, expect.stringContaining('berth-ldap-sync-guard')]);
  });

  it.each([
    ['GET', '/api/v1/secrets'],
    ['GET', '/api/v1/pods'],
    ['GET', '/api/v1/namespaces/ondemand/configmaps/others'],
    ['DELETE', '/api/v1/namespaces/default'],
    ['POST', '/api/v1/namespaces/ondemand/serviceaccounts/berth-hook/token'],
    ['POST', '/api/v1/namespaces'],
  ])('and not %s %s', async (method, path) => {
    const { status } = await request(method, path, method === 'POST' ? {} : undefined);
    expect(status).toBe(403);
  });
});
