import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers } from '../../rig/site/test-users.ts';
import { listedRights } from '../../rig/site/listed-rights.ts';
import { createOscAccount, removeOscAccount } from '../../rig/site/osc-hooks.ts';
import { Portal, pullSecretName } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { roleBinding, rbacPath, StolenToken, userSubject } from '../../rig/site/stolen-token.ts';

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;
let stolen: StolenToken;

const osc = 'berth-test-osc';
const victim = 'u-lp-bob';

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  portal = await Portal.make(site, { clusters: { prod: { auth: { type: 'managed' } } } });
  stolen = await StolenToken.take(site, cluster);
  const { name } = await newcomers.create('lp-bob');
  await portal.prePun(name);
});

afterAll(async () => {
  await removeOscAccount(cluster, osc);
  await newcomers.removeNamespaces();
  await portal.remove();
});

const everywhere = [
  'clusterroles.rbac.authorization.k8s.io [job-pod-reaper] [bind]',
  'clusterroles.rbac.authorization.k8s.io [ood-initializer] [bind]',
  'clusterroles.rbac.authorization.k8s.io [ood-user] [bind]',
  'limitranges [ondemand] [get create patch]',
  'namespaces [] [get create patch]',
  'networkpolicies.networking.k8s.io [deny-from-other-namespaces] [get create patch]',
  'resourcequotas [ondemand] [get create patch]',
  'rolebindings.rbac.authorization.k8s.io [] [list create patch]',
  `secrets [${pullSecretName}] [get create patch]`,
  'serviceaccounts [default] [get create patch]',
];

describe('kubectl auth can-i --list with a stolen token of the hook', () => {
  it('shows these rights and no others', async () => {
    expect(await listedRights(site, stolen.token, 'default')).toEqual(everywhere);
    expect(await listedRights(site, stolen.token, 'kube-system')).toEqual(everywhere);
  });

  it('shows in its own namespace that it may renew its token, and no more', async () => {
    expect(await listedRights(site, stolen.token, 'ondemand')).toEqual(
      [...everywhere, 'serviceaccounts/token [berth-hook] [create]'].sort(),
    );
  });

  it("beside that of OSC's, which holds every secret and every pod of the cluster", async () => {
    const stolenFromOsc = await createOscAccount(cluster, osc);

    const theirs = await listedRights(site, stolenFromOsc, 'kube-system');

    for (const resource of ['secrets', 'pods', 'configmaps'])
      expect(theirs).toContain(`${resource} [] [get watch list create update patch delete]`);
    const secrets = ['get', 'secrets', '--all-namespaces'];
    expect((await site.kubectl(secrets, { token: stolenFromOsc })).exitCode).toBe(0);
    expect((await site.kubectl(secrets, { token: stolen.token })).exitCode).toBe(1);
  });
});

const pod = { metadata: { name: 'x' }, spec: { containers: [{ name: 'x', image: 'x' }] } };
const inVictim = `${rbacPath}/namespaces/${victim}/rolebindings`;

describe('with a stolen token of the hook one cannot', () => {
  it.each<[string, string, string, object?]>([
    ['list the secrets of the cluster', 'GET', '/api/v1/secrets'],
    ["list a user's secrets", 'GET', `/api/v1/namespaces/${victim}/secrets`],
    ["read a user's secret", 'GET', `/api/v1/namespaces/${victim}/secrets/theirs`],
    ['watch for secrets', 'GET', '/api/v1/watch/secrets'],
    [
      'create a secret',
      'POST',
      `/api/v1/namespaces/${victim}/secrets`,
      { metadata: { name: 'x' } },
    ],
    ['create a pod', 'POST', `/api/v1/namespaces/${victim}/pods`, pod],
    ['see pods', 'GET', '/api/v1/pods'],
    ['enter a pod', 'POST', `/api/v1/namespaces/${victim}/pods/x/exec?command=sh`],
    ['list the namespaces', 'GET', '/api/v1/namespaces'],
    ["delete a user's namespace", 'DELETE', `/api/v1/namespaces/${victim}`],
    ['delete a binding', 'DELETE', `${inVictim}/lp-bob-ood-user`],
    [
      'bind cluster-admin in a namespace',
      'POST',
      inVictim,
      roleBinding('cluster-admin', userSubject('oidc:lp-bob'), 'lp-bob-ood-user-2'),
    ],
    [
      'bind anything in the whole cluster',
      'POST',
      `${rbacPath}/clusterrolebindings`,
      roleBinding('ood-user', userSubject('mallory')),
    ],
    [
      'widen its own role',
      'PATCH',
      `${rbacPath}/clusterroles/berth-hook`,
      { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] },
    ],
    [
      'widen the role that it gives to users',
      'PATCH',
      `${rbacPath}/clusterroles/ood-user`,
      { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] },
    ],
    [
      'take the guard away',
      'DELETE',
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/berth-hook-guard',
    ],
    [
      'mint a token of a controller',
      'POST',
      '/api/v1/namespaces/kube-system/serviceaccounts/namespace-controller/token',
      { spec: {} },
    ],
    [
      "mint a token of a user's default account",
      'POST',
      `/api/v1/namespaces/${victim}/serviceaccounts/default/token`,
      { spec: {} },
    ],
    ['be somebody else', 'POST', '/api/v1/users/x/impersonate'],
  ])('%s', async (_, method, path, body) => {
    const { status, text } = await stolen.request(method, path, body);

    expect([status, text]).toEqual([403, expect.stringContaining('berth-hook')]);
    expect(text).not.toContain('ValidatingAdmissionPolicy');
  });
});
