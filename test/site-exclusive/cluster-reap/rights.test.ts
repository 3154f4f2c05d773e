import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { send } from '../../rig/site/https.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { jobObjects, jobPod, ReapSite } from './reap-site.ts';

let site: Site;
let host: ReapSite;
let token: string;
let users: string;
let kept: string;

beforeAll(async () => {
  site = await openSite();
  host = await ReapSite.make(site);
  const account = ['-n', 'ondemand', 'create', 'token', 'berth-reaper'];
  token = (await host.cluster.kubectl(account)).trim();
  users = await host.namespace('alice');
  kept = await host.namespace('kept', { labels: { 'berth.dev/keep': 'true' } });
  const own = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'own', namespace: users } };
  await host.cluster.create(
    ...[jobPod(users, 'job'), ...jobObjects(users, 'job'), jobPod(kept, 'job'), own],
    { ...withoutLifetime(jobPod(users, 'plain')) },
  );
  await waitFor({ what: 'the guard', timeoutMs: 60_000 }, async () =>
    (await request('DELETE', `/api/v1/namespaces/${kept}?dryRun=All`)).status === 422
      ? true
      : undefined,
  );
});
afterAll(() => host.remove());

async function request(
  method: string,
  path: string,
): Promise<{ readonly status: number; readonly text: string }> {
  return send(`${site.server}${path}`, {
    ...{ method, ca: site.ca.pem, headers: { authorization: `Bearer ${token}` } },
  });
}

const inUsers = (rest: string): string => `/api/v1/namespaces/${users}/${rest}?dryRun=All`;

describe('with a stolen token of the reaper one can', () => {
  it('delete objects with a lifetime or a job', async () => {
    expect((await request('DELETE', inUsers('pods/job'))).status).toBe(200);
    expect((await request('DELETE', inUsers('services/job-service'))).status).toBe(200);
  });

  it.each<[string, () => string]>([
    ['a pod without a lifetime', () => inUsers('pods/plain')],
    ['a ConfigMap without a job', () => inUsers('configmaps/kube-root-ca.crt')],
    ['a pod of a namespace that is kept', () => `/api/v1/namespaces/${kept}/pods/job?dryRun=All`],
    ['a namespace that is kept', () => `/api/v1/namespaces/${kept}?dryRun=All`],
    ['a namespace of the site', () => '/api/v1/namespaces/kube-node-lease?dryRun=All'],
    ['the account of the hook', () => '/api/v1/namespaces/ondemand?dryRun=All'],
  ])('and not delete %s', async (_, path) => {
    const { status, text } = await request('DELETE', path());
    expect([status, text]).toEqual([422, expect.stringContaining('berth-reaper-guard')]);
  });

  it('but not see a Secret, neither by a dry run of a deletion nor by deleting one without a job', async () => {
    for (const query of ['?dryRun=All&labelSelector=job', '?dryRun=All', '']) {
      const { status, text } = await request(
        'DELETE',
        `/api/v1/namespaces/${users}/secrets${query}`,
      );
      expect(status).toBe(422);
      expect(text).not.toContain('password');
    }
    expect((await request('GET', inUsers('secrets'))).status).toBe(403);
    expect((await request('GET', inUsers('secrets/job-secret'))).status).toBe(403);
    expect(await host.names('secrets', users)).toContain('own');
  });
});

function withoutLifetime(pod: object): object {
  const { metadata, ...rest } = pod as { metadata: object };
  return { ...rest, metadata: { ...metadata, annotations: {} } };
}
