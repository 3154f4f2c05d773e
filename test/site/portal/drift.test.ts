import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LiveCluster, type LiveObject } from '../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { Portal, pullSecretName } from '../../rig/site/portal.ts';
import { openSite } from '../../rig/site/site.ts';

let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;
let user: TestUser;
/** The user's objects as the first login left them. */
let intact: readonly LiveObject[];

beforeAll(async () => {
  const site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  portal = await Portal.make(site, {
    clusters: { prod: { auth: { type: 'managed' } } },
    berth: { defaults: { resource_quota: { hard: { pods: '20' } } } },
  });
  user = await newcomers.create('dr-user');
  await portal.prePun(user.name);
  await cluster.waitForControllers(user.namespace);
  intact = decided(await cluster.dump(user.namespace));
});

afterAll(async () => {
  await newcomers.removeNamespaces();
  await portal.remove();
});

/** Without what every write changes: versions, times, who changed which field. */
function decided(objects: readonly LiveObject[]): readonly LiveObject[] {
  return objects
    .map((object) => JSON.parse(JSON.stringify(object, ignored)) as LiveObject)
    .sort((a, b) => `${a.kind} ${a.metadata.name}`.localeCompare(`${b.kind} ${b.metadata.name}`));
}

function ignored(key: string, value: unknown): unknown {
  const bookkeeping = [
    'managedFields',
    'resourceVersion',
    'uid',
    'creationTimestamp',
    'generation',
  ];
  const ofTheServer = [...bookkeeping, 'openondemand.org/last-hook-execution', 'status'];
  return ofTheServer.includes(key) ? undefined : value;
}

const policy = 'networkpolicy deny-from-other-namespaces';
const openToAll = { podSelector: {}, namespaceSelector: {} };

type Change =
  { readonly deleted: true } | { readonly merge: object } | { readonly json: readonly object[] };

const drifts: readonly (readonly [what: string, object: string, change: Change])[] = [
  ["the user's binding is deleted", 'rolebinding dr-user-ood-user', { deleted: true }],
  [
    "the ServiceAccount's binding is deleted",
    'rolebinding dr-user-ood-initializer',
    { deleted: true },
  ],
  [
    'a binding names another user',
    'rolebinding dr-user-ood-user',
    { merge: { subjects: [{ kind: 'User', name: 'oidc:mallory' }] } },
  ],
  [
    'a binding names another user as well',
    'rolebinding dr-user-ood-user',
    { json: [{ op: 'add', path: '/subjects/-', value: { kind: 'User', name: 'oidc:mallory' } }] },
  ],
  ['the NetworkPolicy is deleted', policy, { deleted: true }],
  [
    'a rule is added to the NetworkPolicy',
    policy,
    { json: [{ op: 'add', path: '/spec/ingress/-', value: {} }] },
  ],
  [
    'a rule of the NetworkPolicy lets all namespaces in',
    policy,
    { json: [{ op: 'replace', path: '/spec/ingress/0/from/0', value: openToAll }] },
  ],
  [
    'the NetworkPolicy is narrowed to some pods',
    policy,
    { merge: { spec: { podSelector: { matchLabels: { app: 'x' } } } } },
  ],
  ['the pull secret is deleted', `secret ${pullSecretName}`, { deleted: true }],
  [
    'the pull secret is changed',
    `secret ${pullSecretName}`,
    { merge: { data: { '.dockerconfigjson': Buffer.from('{"auths":{}}').toString('base64') } } },
  ],
  [
    'the reference to the pull secret is removed',
    'serviceaccount default',
    { merge: { imagePullSecrets: null } },
  ],
  ['the quota is raised', 'resourcequota ondemand', { merge: { spec: { hard: { pods: '99' } } } }],
];

describe('the next login repairs', () => {
  it.each(drifts)('%s', async (_, object, change) => {
    const [kind = '', name = ''] = object.split(' ');
    if ('deleted' in change) await cluster.delete(kind, name, user.namespace);
    else if ('merge' in change) await cluster.patch(kind, name, user.namespace, change.merge);
    else await cluster.patch(kind, name, user.namespace, change.json, 'json');

    const { exitCode, stderr } = await portal.prePun(user.name);

    expect(exitCode).toBe(0);
    expect(stderr.split('\n')).toHaveLength(1);
    expect(stderr).toMatch(new RegExp(`repaired="\\w+ ${user.namespace}/${name}"`));
    expect(decided(await cluster.dump(user.namespace))).toEqual(intact);
  });

  it.each([
    ["the namespace's label is taken off", { labels: { 'app.kubernetes.io/name': null } }],
    ['the label has another value', { labels: { 'app.kubernetes.io/name': 'mine' } }],
    ['the UID on the namespace is another', { annotations: { 'openondemand.org/uid': '0' } }],
    ['the groups on the namespace are gone', { annotations: { 'openondemand.org/groups': null } }],
  ])('%s', async (_, metadata) => {
    await cluster.patch('namespace', user.namespace, user.namespace, { metadata });

    expect(await portal.prePun(user.name)).toMatchObject({ exitCode: 0 });

    expect(decided(await cluster.dump(user.namespace))).toEqual(intact);
  });

  it('several at once, and keeps what others put into the namespace', async () => {
    const theirs = { name: 'of-the-user', namespace: user.namespace };
    await cluster.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: theirs });
    await cluster.delete('networkpolicy', 'deny-from-other-namespaces', user.namespace);
    await cluster.delete('rolebinding', 'dr-user-ood-user', user.namespace);

    const { stderr } = await portal.prePun(user.name);

    expect(stderr).toContain(
      'repaired="NetworkPolicy u-dr-user/deny-from-other-namespaces, RoleBinding u-dr-user/dr-user-ood-user"',
    );
    expect(await cluster.get('configmap', 'of-the-user', user.namespace)).toBeDefined();
    await cluster.delete('configmap', 'of-the-user', user.namespace);
  });
});

describe('what cannot be changed in Kubernetes', () => {
  it('a binding of another role: the error names what to delete, the rest is repaired', async () => {
    await cluster.delete('rolebinding', 'dr-user-ood-user', user.namespace);
    await cluster.kubectl([
      ...['create', 'rolebinding', 'dr-user-ood-user', '-n', user.namespace],
      ...['--clusterrole=view', '--user=oidc:dr-user'],
    ]);
    await cluster.delete('networkpolicy', 'deny-from-other-namespaces', user.namespace);

    const { exitCode, stderr } = await portal.prePun(user.name);

    expect(exitCode).toBe(78);
    expect(stderr).toContain('code=api-immutable');
    expect(stderr).toContain('RoleBinding u-dr-user/dr-user-ood-user');
    expect(stderr).toContain('kubectl -n u-dr-user delete rolebinding dr-user-ood-user');
    await cluster.delete('rolebinding', 'dr-user-ood-user', user.namespace);
    expect((await portal.prePun(user.name)).exitCode).toBe(0);
    expect(decided(await cluster.dump(user.namespace))).toEqual(intact);
  });

  it("a secret of another type under the pull secret's name: the same", async () => {
    await cluster.delete('secret', pullSecretName, user.namespace);
    await cluster.kubectl(['create', 'secret', 'generic', pullSecretName, '-n', user.namespace]);

    const { exitCode, stderr } = await portal.prePun(user.name);

    expect(exitCode).toBe(78);
    expect(stderr).toContain(`kubectl -n u-dr-user delete secret ${pullSecretName}`);
    await cluster.delete('secret', pullSecretName, user.namespace);
    expect((await portal.prePun(user.name)).exitCode).toBe(0);
  });
});
