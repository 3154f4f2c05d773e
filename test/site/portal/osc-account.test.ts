import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers } from '../../rig/site/test-users.ts';
import { hookKubeconfig, Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

/** What OSC's installation gives its `ondemand` account: nothing of RoleBindings may be listed. */
const oscRules = [
  {
    apiGroups: [''],
    resources: ['namespaces', 'serviceaccounts'],
    verbs: ['get', 'create', 'update', 'patch'],
  },
  {
    apiGroups: ['rbac.authorization.k8s.io'],
    resources: ['rolebindings', 'roles'],
    verbs: ['get', 'create', 'update', 'patch'],
  },
  {
    apiGroups: ['networking.k8s.io'],
    resources: ['networkpolicies'],
    verbs: ['get', 'create', 'update', 'patch'],
  },
  {
    apiGroups: [''],
    resources: ['services', 'pods', 'configmaps', 'secrets', 'pods/log'],
    verbs: ['get', 'watch', 'list', 'create', 'update', 'patch', 'delete'],
  },
];
const account = { name: 'osc-like', namespace: 'default' };

let site: Site;
let newcomers: TestUsers;
let portal: Portal;

beforeAll(async () => {
  site = await openSite();
  newcomers = new TestUsers(new LiveCluster(site));
  const objects = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: account.name },
      rules: oscRules,
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: account.name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: account.name },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    },
  ];
  const input = objects.map((object) => JSON.stringify(object)).join('\n');
  expect(await site.kubectl(['apply', '-f', '-'], { input })).toMatchObject({ exitCode: 0 });
  portal = await Portal.make(site, {
    hookEnv: { USE_JOB_POD_REAPER: 'false' },
    kubeconfig: await hookKubeconfig(site, site.server, account),
  });
});

afterAll(async () => {
  await newcomers.removeNamespaces();
  await portal.remove();
  await site.kubectl(['delete', 'clusterrolebinding,clusterrole', account.name]);
  await site.kubectl(['-n', account.namespace, 'delete', 'serviceaccount', account.name]);
});

describe('a site that replaces the two paths and keeps the ServiceAccount of OSC', () => {
  it('has first and later logins, and drift repaired', async () => {
    const user = await newcomers.create('oscacct');
    const run = () =>
      portal.run('hooks/pre-pun', ['--user', user.name, '--config', portal.files.berth]);
    // Without tokens of a portal only the credentials fail.
    expect((await run()).stderr).toContain('msg="namespace created"');
    const { namespace } = user;
    const binding = `${user.name}-ood-user`;
    await site.kubectl(['-n', namespace, 'delete', 'rolebinding', binding]);
    expect((await run()).stderr).toContain(`RoleBinding ${namespace}/${binding}`);
    expect((await run()).stderr).not.toContain('repaired');
    expect(await site.kubectl(['-n', namespace, 'get', 'rolebinding', binding])).toMatchObject({
      exitCode: 0,
    });
  });
});
