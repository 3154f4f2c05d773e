import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCheck, runDoctor } from '../../rig/site/doctor-report.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite } from '../../rig/site/site.ts';
import { StolenToken } from '../../rig/site/stolen-token.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { waitFor } from '../../rig/wait-for.ts';

let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;
let stolen: StolenToken;
let ada: TestUser;

const component = new URL('../../../etc/kubernetes/volume-claims', import.meta.url).pathname;
const home = {
  name: 'home',
  size: '20Gi',
  storage_class: 'cephfs',
  access_modes: ['ReadWriteMany'],
};
const scratch = { name: 'scratch', size: '1Ti' };

beforeAll(async () => {
  const site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  portal = await Portal.make(site, { clusters: { prod: { auth: { type: 'managed' } } } });
  stolen = await StolenToken.take(site, cluster);
  ada = await newcomers.create('vol-ada');
  await cluster.kubectl(['delete', '--ignore-not-found', '-k', component]);
});

afterAll(async () => {
  await cluster.kubectl(['delete', '--ignore-not-found', '-k', component]);
  await newcomers.removeNamespaces();
  await portal.remove();
});

const useClaims = (...claims: readonly object[]): Promise<void> =>
  portal.writeBerth({ defaults: { volume_claims: claims } });

const claim = (name: string): ReturnType<LiveCluster['get']> =>
  cluster.get('persistentvolumeclaim', name, ada.namespace);

async function login(): Promise<void> {
  const { exitCode, stderr } = await portal.prePun(ada.name);
  expect([exitCode, stderr]).toEqual([0, expect.any(String)]);
}

const rightsWhile = (status: string): ReturnType<typeof runDoctor> =>
  waitFor({ what: `the rights to be ${status}`, timeoutMs: 60_000 }, async () => {
    const seen = await runDoctor(portal);
    return findCheck(seen, 'rights').status === status ? seen : undefined;
  });

describe('volume_claims', () => {
  it('need a right that doctor names', async () => {
    await useClaims(home);

    expect(findCheck(await rightsWhile('failed'), 'rights')).toMatchObject({
      message: expect.stringMatching(/create persistentvolumeclaims in u-\S+(?:;|$)/) as unknown,
      next: expect.stringMatching(/^Run `kubectl apply -k \S+\/volume-claims`\.$/) as unknown,
    });
  });

  it('are made at the first login', async () => {
    await cluster.kubectl(['apply', '-k', component]);
    await rightsWhile('ok');
    await stolen.waitForGuardPolicy();

    await login();

    expect(await claim('home')).toMatchObject({
      metadata: { labels: { 'berth.dev/user-volume': 'true' } },
      spec: {
        accessModes: ['ReadWriteMany'],
        storageClassName: 'cephfs',
        resources: { requests: { storage: '20Gi' } },
      },
    });
  });

  it('are never changed or deleted, and those that are missing are made', async () => {
    const before = await claim('home');
    await useClaims({ ...home, size: '40Gi', storage_class: 'fast' }, scratch);
    const plan = await portal.berth('plan', '--user', ada.name);
    expect(plan.stdout).toContain(`unchanged  PersistentVolumeClaim ${ada.namespace}/home`);
    expect(plan.stdout).toContain(`create     PersistentVolumeClaim ${ada.namespace}/scratch`);

    await login();

    expect(await claim('home')).toEqual(before);
    expect(await claim('scratch')).toMatchObject({
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Ti' } } },
    });
    await useClaims();
    await login();
    expect(await claim('home')).toEqual(before);
    expect(await claim('scratch')).toBeDefined();
  });

  it('of somebody else stay theirs', async () => {
    const metadata = { name: 'theirs', namespace: ada.namespace };
    const spec = { accessModes: ['ReadOnlyMany'], resources: { requests: { storage: '1Gi' } } };
    await cluster.create({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec });
    const before = await claim('theirs');
    await useClaims({ ...home, name: 'theirs' });

    await login();

    expect(await claim('theirs')).toEqual(before);
    const report = await runDoctor(portal, '--user', ada.name);
    expect(findCheck(report, 'objects').status).toBe('ok');
  });
});

describe('with a stolen token of the hook one cannot', () => {
  const path = (namespace: string): string =>
    `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;
  const body = {
    metadata: { name: 'x' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };

  it.each([
    ['make a claim in a namespace that is no user’s', 422, 'POST', path('default'), body],
    ['change a claim', 403, 'PATCH', `${path('u-vol-ada')}/home`, { metadata: { labels: {} } }],
    ['delete a claim', 403, 'DELETE', `${path('u-vol-ada')}/home`, undefined],
    ['list the claims', 403, 'GET', path('u-vol-ada'), undefined],
  ])('%s', async (_, status, method, where, content) => {
    expect(await stolen.request(method, where, content)).toMatchObject({ status });
  });
});
