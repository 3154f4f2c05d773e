import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { Portal, pullSecretName, type HookResult } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;
let dana: TestUser;
let login: HookResult;
let began: number;

/** Amounts as admins write them; the API server stores `1`, `500m` and `2Gi`. */
const resourceQuota = {
  hard: { pods: 20, 'requests.cpu': '1000m', 'limits.cpu': '0.5', 'requests.memory': '2048Mi' },
};
const limitRange = {
  limits: [{ type: 'Container', default: { cpu: '0.5' }, defaultRequest: { memory: '1024Ki' } }],
};

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  portal = await Portal.make(site, {
    hookEnv: {
      K8S_USERNAME_PREFIX: 'kc-',
      NETWORK_POLICY_ALLOW_CIDR: '10.1.0.0/16, 192.0.2.7/32 fd00::/8',
    },
    clusters: { prod: { username_prefix: 'kc-' } },
    berth: { defaults: { resource_quota: resourceQuota, limit_range: limitRange } },
  });
  dana = await newcomers.create('fl-dana', { groups: ['berth-fl-a', 'berth-fl-b'] });
  await site.keycloak.addUser(dana.name);
  began = Math.floor(Date.now() / 1000);
  login = await portal.prePun(dana.name, await portal.login(dana.name));
});

afterAll(async () => {
  await newcomers.removeNamespaces();
  await portal.remove();
});

const live = (kind: string, name: string): Promise<unknown> =>
  cluster.get(kind, name, dana.namespace);

describe('the first login of a user', () => {
  it('succeeds and says so in one line for syslog', () => {
    expect(login).toMatchObject({ exitCode: 0, stdout: '' });
    expect(login.stderr).toMatch(
      /^level=info msg="namespace created" user=fl-dana session=\S+ cluster=prod /m,
    );
  });

  it("makes the namespace with OnDemand's label, the owner, and the owner's UID, GID and groups", async () => {
    const groups = await execa('id', ['-G', dana.name]);
    const ascending = groups.stdout.split(' ').sort((a, b) => Number(a) - Number(b));

    const namespace = await cluster.get('namespace', 'u-fl-dana');

    expect(ascending).toHaveLength(3);
    expect(namespace?.metadata.labels).toMatchObject({ 'app.kubernetes.io/name': 'open-ondemand' });
    expect(namespace?.metadata.annotations).toEqual({
      'openondemand.org/owner': 'fl-dana',
      'openondemand.org/uid': String(dana.uid),
      'openondemand.org/gid': String(dana.gid),
      'openondemand.org/groups': ascending.join(','),
      'openondemand.org/last-hook-execution': expect.stringMatching(/^\d{10}$/) as string,
    });
  });

  it('stamps the namespace with the second of the login, as reapers of a site read it', async () => {
    const namespace = await cluster.get('namespace', dana.namespace);
    const stamp = Number(namespace?.metadata.annotations?.['openondemand.org/last-hook-execution']);

    expect(stamp).toBeGreaterThanOrEqual(began);
    expect(stamp).toBeLessThanOrEqual(Date.now() / 1000);
  });

  it('closes the namespace against others, except for the CIDRs of hook.env', async () => {
    expect(await live('networkpolicy', 'deny-from-other-namespaces')).toMatchObject({
      spec: {
        podSelector: {},
        policyTypes: ['Ingress'],
        ingress: [
          {
            from: [
              { podSelector: {} },
              { ipBlock: { cidr: '10.1.0.0/16' } },
              { ipBlock: { cidr: '192.0.2.7/32' } },
              { ipBlock: { cidr: 'fd00::/8' } },
            ],
          },
        ],
      },
    });
  });

  it.each([
    [
      'fl-dana-ood-initializer',
      'ood-initializer',
      { kind: 'ServiceAccount', name: 'default', namespace: 'u-fl-dana' },
    ],
    [
      'fl-dana-ood-user',
      'ood-user',
      // The name that the API server sees, not that of the kubeconfig's entry.
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'oidc:fl-dana' },
    ],
    [
      'fl-dana-job-pod-reaper-rolebinding',
      'job-pod-reaper',
      { kind: 'ServiceAccount', name: 'job-pod-reaper', namespace: 'job-pod-reaper' },
    ],
  ])('binds %s', async (name, role, subject) => {
    expect(await live('rolebinding', name)).toMatchObject({
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [subject],
    });
  });

  it('names the user in the kubeconfig with the prefix of the kubeconfig', async () => {
    const file = await readFile(join(dana.home, '.kube/config'), 'utf8');

    expect(parse(file)).toMatchObject({
      users: [{ name: 'kc-fl-dana' }],
      contexts: [{ name: 'prod', context: { user: 'kc-fl-dana', namespace: 'u-fl-dana' } }],
    });
  });

  it("puts the site's registry credentials into the pull secret", async () => {
    const secret = await cluster.get('secret', pullSecretName, dana.namespace);
    const data = secret?.data as Record<string, string>;

    expect(secret?.type).toBe('kubernetes.io/dockerconfigjson');
    expect(Object.keys(data)).toEqual(['.dockerconfigjson']);
    expect(Buffer.from(data['.dockerconfigjson'] ?? '', 'base64')).toEqual(
      await readFile(portal.files.dockerConfig),
    );
  });

  it("sets the site's ResourceQuota and LimitRange, however the amounts are written", async () => {
    expect(await live('resourcequota', 'ondemand')).toMatchObject({
      spec: {
        hard: {
          pods: '20',
          'requests.cpu': '1',
          'limits.cpu': '500m',
          'requests.memory': '2Gi',
        },
      },
    });
    expect(await live('limitrange', 'ondemand')).toMatchObject({
      spec: {
        limits: [{ default: { cpu: '500m' }, defaultRequest: { cpu: '500m', memory: '1Mi' } }],
      },
    });
  });

  it('leaves nothing to do for the second login', async () => {
    const before = await cluster.dump(dana.namespace);

    const again = await portal.prePun(dana.name, await portal.login(dana.name));

    const [, ...members] = await cluster.dump(dana.namespace);
    expect(again.stderr).toMatch(/msg="namespace kept"(?!.*repaired)/);
    expect(members).toEqual(before.slice(1));
  });
});

describe('the reference to the pull secret on the default ServiceAccount', () => {
  it('is there after each of 20 first logins, though the controller makes the account', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `fl-race-${index}`);
    const people = await newcomers.createAll(names);
    const managed = await Portal.make(site, { clusters: { prod: { auth: { type: 'managed' } } } });

    for (const { name } of people) expect((await managed.prePun(name)).exitCode).toBe(0);

    const namespaces = people.map(({ namespace }) => namespace);
    await cluster.waitForControllers(...namespaces);
    const accounts = await cluster.inAllNamespaces('serviceaccounts', 'default');
    expect(namespaces.map((name) => accounts.get(name)?.imagePullSecrets)).toEqual(
      namespaces.map(() => [{ name: pullSecretName }]),
    );
    await managed.remove();
  });

  it('keeps the references that others put there', async () => {
    const eve = await newcomers.create('fl-eve');
    const managed = await Portal.make(site, { clusters: { prod: { auth: { type: 'managed' } } } });
    await managed.prePun(eve.name);
    await cluster.waitForControllers(eve.namespace);
    const theirs = { imagePullSecrets: [{ name: 'of-the-project' }] };
    await cluster.patch('serviceaccount', 'default', eve.namespace, theirs);

    const { stderr } = await managed.prePun(eve.name);

    expect(stderr).toContain('repaired="ServiceAccount u-fl-eve/default"');
    expect(await cluster.get('serviceaccount', 'default', eve.namespace)).toMatchObject({
      imagePullSecrets: [{ name: 'of-the-project' }, { name: pullSecretName }],
    });
    await managed.remove();
  });
});
