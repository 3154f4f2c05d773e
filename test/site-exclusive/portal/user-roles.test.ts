import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCheck, runDoctor } from '../../rig/site/doctor-report.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { rbacPath, roleBinding, StolenToken, userSubject } from '../../rig/site/stolen-token.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { waitFor } from '../../rig/wait-for.ts';

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;
let stolen: StolenToken;
let ada: TestUser;

const component = new URL('../../../etc/kubernetes/user-roles', import.meta.url).pathname;
const unsafe = 'berth-test-unsafe';
const routes = 'berth-test-routes';

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  portal = await Portal.make(site, { clusters: { prod: { auth: { type: 'managed' } } } });
  stolen = await StolenToken.take(site, cluster);
  ada = await newcomers.create('role-ada');
  await cluster.kubectl(['delete', '--ignore-not-found', '-k', component]);
  await cluster.kubectl([
    ...['create', 'clusterrole', unsafe, '--verb=get,create', '--resource=pods/exec,rolebindings'],
  ]);
  await cluster.create({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: routes },
    rules: [
      { apiGroups: ['', 'apps', 'batch'], resources: ['pods', 'jobs'], verbs: ['create'] },
      { apiGroups: ['networking.k8s.io'], resources: ['ingresses'], verbs: ['create'] },
      { apiGroups: ['resource.k8s.io'], resources: ['resourceclaims/status'], verbs: ['patch'] },
    ],
  });
});

afterAll(async () => {
  await cluster.kubectl(['delete', '--ignore-not-found', '-k', component]);
  await cluster.kubectl(['delete', '--ignore-not-found', `clusterrole/${unsafe}`]);
  await cluster.kubectl(['delete', '--ignore-not-found', `clusterrole/${routes}`]);
  await newcomers.removeNamespaces();
  await portal.remove();
});

const useRoles = (...names: readonly string[]): Promise<void> =>
  portal.writeBerth({ defaults: { user_roles: names } });

const bindingTo = (role: string): ReturnType<LiveCluster['get']> =>
  cluster.get('rolebinding', `role-ada-berth-role-${role}`, ada.namespace);

async function mayUser(verb: string, resource: string): Promise<string> {
  const { stdout } = await site.kubectl([
    ...['auth', 'can-i', verb, resource, '-n', ada.namespace, '--as=oidc:role-ada'],
  ]);
  return stdout.trim();
}

async function login(): Promise<string> {
  const { exitCode, stderr } = await portal.prePun(ada.name);
  expect([exitCode, stderr]).toEqual([0, expect.any(String)]);
  return stderr;
}

describe('user_roles', () => {
  it('name roles that doctor tells how to let the hook bind', async () => {
    await useRoles('berth-dask');

    // Another test may just have removed it.
    const report = await waitFor({ what: 'the missing right', timeoutMs: 60_000 }, async () => {
      const seen = await runDoctor(portal);
      return findCheck(seen, 'rights').status === 'ok' ? undefined : seen;
    });

    const next = expect.stringMatching(
      /^Name berth-dask in the resourceNames of (\S+)\/user-roles\.yaml, then run `kubectl apply -k \1`\.$/,
    ) as unknown;
    expect(findCheck(report, 'rights')).toMatchObject({ status: 'failed', next });
    expect(findCheck(report, 'cluster-roles')).toMatchObject({ status: 'failed', next });
  });

  it('are bound to the user, but for one that is not safe and one that is not there', async () => {
    await cluster.kubectl(['apply', '-k', component]);
    const names = ['berth-dask', unsafe, routes, 'berth-test-absent'];
    await cluster.patch(
      ...(['clusterrole', 'berth-hook-user-roles', 'default'] as const),
      [{ op: 'replace', path: '/rules/0/resourceNames', value: names }],
      'json',
    );
    await useRoles(...names);
    await waitFor({ what: 'the right to bind', timeoutMs: 60_000 }, async () =>
      findCheck(await runDoctor(portal), 'rights').status === 'ok' ? true : undefined,
    );
    await stolen.waitForGuardPolicy();

    const lines = (await login())
      .split('\n')
      .filter((line) => line.includes('user-role-not-bound'));

    expect(lines).toEqual([
      expect.stringContaining(
        `${unsafe} is not bound to users: create rolebindings.rbac.authorization.k8s.io: grants rights`,
      ),
      expect.stringMatching(
        /berth-test-routes is not bound to users: create ingresses\.networking\.k8s\.io: Berth does not know it, and it may give [^;]*; if it cannot, name it in user_role_resources of berth\.yml; patch resourceclaims\/status\.resource\.k8s\.io: Berth does not know it/,
      ),
      expect.stringContaining('berth-test-absent is not bound to users: it does not exist'),
    ]);
    expect(await bindingTo('berth-dask')).toMatchObject({
      roleRef: { kind: 'ClusterRole', name: 'berth-dask' },
      subjects: [{ kind: 'User', name: 'oidc:role-ada' }],
    });
    expect(await bindingTo(unsafe)).toBeUndefined();
    expect(await bindingTo('berth-test-absent')).toBeUndefined();
    expect(await mayUser('create', 'jobs')).toBe('yes');
    expect(await mayUser('list', 'pods')).toBe('yes');
    expect(await mayUser('create', 'rolebindings')).toBe('no');
  });

  it('write what the site names', async () => {
    const named = ['ingresses.networking.k8s.io', '*.resource.k8s.io'];
    const user_roles = ['berth-dask', unsafe, routes];
    await portal.writeBerth({ defaults: { user_roles, user_role_resources: named } });
    await login();
    expect(await bindingTo(routes)).toMatchObject({ roleRef: { name: routes } });
    await useRoles('berth-dask', unsafe, 'berth-test-absent');
    await login();
    expect((await bindingTo(routes))?.subjects).toBeUndefined();
  });

  it('that are not bound are a failure of doctor and an error of a plan', async () => {
    const report = await runDoctor(portal);
    const plan = await portal.berth('plan', '--user', ada.name);

    expect(findCheck(report, 'cluster-roles')).toMatchObject({
      status: 'failed',
      message: expect.stringContaining(`ClusterRole ${unsafe} is not bound to users`) as unknown,
    });
    expect([plan.exitCode, plan.stdout]).toEqual([
      78,
      expect.stringContaining('error user-role-not-bound: ClusterRole berth-test-absent'),
    ]);
  });

  it('are taken from the user when they become unsafe', async () => {
    await cluster.patch(
      ...(['clusterrole', 'berth-dask', 'default'] as const),
      [{ op: 'add', path: '/rules/0/verbs/-', value: 'impersonate' }],
      'json',
    );
    expect(await login()).toContain('impersonate jobs');

    expect((await bindingTo('berth-dask'))?.subjects).toBeUndefined();
    await cluster.kubectl(['apply', '-k', component]);
    await useRoles('berth-dask');
    expect(await login()).not.toContain('user-role-not-bound');
    expect((await bindingTo('berth-dask'))?.subjects).toHaveLength(1);
  });

  it('are left to the other hosts where the key is absent, and taken away where they left the list', async () => {
    await portal.writeBerth();
    await login();
    expect((await bindingTo('berth-dask'))?.subjects).toHaveLength(1);

    await useRoles();
    const plan = await portal.berth('plan', '--user', ada.name);
    expect(plan.stdout).toContain(
      `update     RoleBinding ${ada.namespace}/role-ada-berth-role-berth-dask`,
    );
    await login();
    expect((await bindingTo('berth-dask'))?.subjects).toBeUndefined();
    expect(await mayUser('create', 'jobs')).toBe('no');
    expect(await mayUser('list', 'pods')).toBe('yes');
    expect((await portal.berth('plan', '--user', ada.name)).exitCode).toBe(0);
  });
});

describe('with a stolen token of the hook the guard refuses', () => {
  it.each<[string, string, object]>([
    [
      'such a role for somebody else',
      'role-ada-berth-role-berth-dask',
      userSubject('oidc:mallory'),
    ],
    ['it under the name of another role', 'role-ada-berth-role-else', userSubject('oidc:role-ada')],
    [
      'it for another user of the namespace',
      'mallory-berth-role-berth-dask',
      userSubject('oidc:role-ada'),
    ],
  ])('%s', async (_, name, subject) => {
    const { status, text } = await stolen.request(
      'POST',
      `${rbacPath}/namespaces/${ada.namespace}/rolebindings?dryRun=All`,
      roleBinding('berth-dask', subject, name),
    );

    expect([status, text]).toEqual([422, expect.stringContaining("'berth-hook-guard'")]);
  });
});
