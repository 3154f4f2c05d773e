import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import { fingerprint } from '../../rig/site/directory-snapshot.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { Portal, pullSecretName } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  portal = await Portal.make(site);
});

afterAll(async () => {
  await newcomers.removeNamespaces();
  await portal.remove();
});

interface Section {
  readonly title: string;
  readonly changes: readonly { what: string; action: string; before?: unknown; after?: unknown }[];
  readonly error?: { readonly code: string; readonly hint: string };
}

interface LoginPlan {
  readonly sections: readonly Section[];
}

/** Somebody who is known to the identity provider and never logged in at the portal. */
async function come(name: string): Promise<TestUser> {
  await site.keycloak.addUser(name);
  return newcomers.create(name);
}

async function logIn({ name }: TestUser): Promise<void> {
  expect(await portal.prePun(name, await portal.login(name))).toMatchObject({ exitCode: 0 });
}

async function planJson(
  user: string,
  from = portal,
): Promise<{ exitCode: number; changed: Section['changes'] }> {
  const { exitCode, stdout } = await from.berth('plan', '--user', user, '-o', 'json');
  const { sections } = berthDocument(stdout) as LoginPlan;
  const changes = sections.flatMap((section) => section.changes);
  return { exitCode, changed: changes.filter(({ action }) => action !== 'none') };
}

describe('a plan before the first login', () => {
  it('shows each object and file that would be made, and makes none', async () => {
    const { name, namespace, home } = await come('pl-new');
    const before = await fingerprint(home);

    const { exitCode, changed } = await planJson(name);

    expect(exitCode).toBe(1);
    expect(changed.map(({ what, action }) => `${action} ${what}`)).toEqual([
      `create Namespace ${namespace}`,
      `create NetworkPolicy ${namespace}/deny-from-other-namespaces`,
      `create RoleBinding ${namespace}/${name}-ood-initializer`,
      `create RoleBinding ${namespace}/${name}-ood-user`,
      `create RoleBinding ${namespace}/${name}-job-pod-reaper-rolebinding`,
      `create Secret ${namespace}/${pullSecretName}`,
      `create ServiceAccount ${namespace}/default`,
      `create ${home}/.kube/config`,
      expect.stringMatching(`^create ${home}/.kube/cache/berth/`),
    ]);
    expect(await cluster.get('namespace', namespace)).toBeUndefined();
    expect(await fingerprint(home)).toBe(before);
  });

  it('matches what the login then does', async () => {
    const user = await come('pl-same');
    const { name, namespace, home } = user;
    const { changed } = await planJson(name);
    await logIn(user);

    const compared: string[] = [];
    for (const { what, after } of changed) {
      const [kind = '', path = ''] = what.split(' ');
      if (what === `${home}/.kube/config`) {
        expect(await readFile(what, 'utf8')).toBe(after);
        compared.push('kubeconfig');
      }
      if (!['NetworkPolicy', 'RoleBinding', 'ServiceAccount'].includes(kind)) continue;
      const live = await cluster.get(kind, path.split('/')[1] ?? '', namespace);
      expect(live).toMatchObject(after as object);
      compared.push(kind);
    }
    const kinds = ['NetworkPolicy', 'RoleBinding', 'ServiceAccount', 'kubeconfig'];
    expect([...new Set(compared)].sort()).toEqual(kinds);
  });
});

describe('a plan after a login', () => {
  it('shows no change', async () => {
    const user = await come('pl-done');
    await logIn(user);

    const { exitCode, stdout } = await portal.berth('plan', '--user', user.name);

    expect(exitCode).toBe(0);
    expect(stdout).not.toMatch(/^[-+]/m);
    expect(stdout.match(/^ {2}unchanged {2}/gm)).toHaveLength(9);
  });

  let drifting: TestUser;
  let managed: Portal;
  beforeAll(async () => {
    managed = await Portal.make(site, { clusters: { prod: { auth: { type: 'managed' } } } });
    drifting = await newcomers.create('pl-drift');
    await managed.prePun(drifting.name);
    await cluster.waitForControllers(drifting.namespace);
  });
  afterAll(() => managed.remove());

  it.each<[string, string, object, string[]]>([
    [
      'an edited rule',
      'networkpolicy deny-from-other-namespaces',
      { spec: { podSelector: { matchLabels: { app: 'x' } } } },
      ['-  podSelector:', '-    matchLabels:', '-      app: x', '+  podSelector: {}'],
    ],
    [
      'another subject',
      'rolebinding pl-drift-ood-user',
      { subjects: [{ kind: 'User', name: 'oidc:mallory' }] },
      ['-    name: oidc:mallory', '+    name: oidc:pl-drift'],
    ],
    [
      'a label that was taken off',
      'namespace u-pl-drift',
      { metadata: { labels: { 'app.kubernetes.io/name': null } } },
      ['+    app.kubernetes.io/name: open-ondemand'],
    ],
    [
      'another UID',
      'namespace u-pl-drift',
      { metadata: { annotations: { 'openondemand.org/uid': '0' } } },
      [
        '-    openondemand.org/uid: "0"',
        expect.stringMatching(/^\+ {4}openondemand.org\/uid: "\d+"/),
      ],
    ],
    [
      'a changed pull secret',
      `secret ${pullSecretName}`,
      { data: { '.dockerconfigjson': Buffer.from('{"auths":{}}').toString('base64') } },
      ['-  .dockerconfigjson: "*** (before)"', '+  .dockerconfigjson: "*** (after)"'],
    ],
    [
      'a reference that was taken off',
      'serviceaccount default',
      { imagePullSecrets: [{ name: 'theirs' }] },
      [`+  - name: ${pullSecretName}`],
    ],
  ])('shows exactly %s', async (_, object, patch, expected) => {
    const user = drifting;
    const [kind = '', name = ''] = object.split(' ');
    await cluster.patch(kind, name, user.namespace, patch);
    const drifted = await cluster.get(kind, name, user.namespace);

    const [{ exitCode, changed }, { stdout }] = await Promise.all([
      planJson(user.name, managed),
      managed.berth('plan', '--user', user.name),
    ]);

    expect(exitCode).toBe(1);
    expect(changed).toHaveLength(1);
    expect(changed[0]).toMatchObject({
      action: 'update',
      what: expect.stringContaining(name) as string,
    });
    const diff = stdout.split('\n').filter((line) => /^[-+](?![-+]{2} )/.test(line));
    expect(diff).toEqual(expected);
    expect(await cluster.get(kind, name, user.namespace)).toEqual(drifted);
    await managed.prePun(user.name);
  });

  it('shows a binding that was deleted', async () => {
    const user = await come('pl-bind');
    await logIn(user);
    await cluster.delete('rolebinding', `${user.name}-ood-user`, user.namespace);

    expect(await planJson(user.name)).toMatchObject({
      exitCode: 1,
      changed: [{ action: 'create', what: `RoleBinding ${user.namespace}/${user.name}-ood-user` }],
    });
  });

  it('shows an entry that the user removed from the kubeconfig', async () => {
    const user = await come('pl-file');
    await logIn(user);
    const file = join(user.home, '.kube/config');
    const unset = await site.kubectl(['config', 'unset', `users.${user.name}`], {
      account: user.name,
      kubeconfig: file,
    });
    expect(unset.exitCode).toBe(0);

    const { exitCode, changed } = await planJson(user.name);

    expect(exitCode).toBe(1);
    expect(changed.map(({ what }) => what)).toEqual([file]);
  });
});

describe('several clusters', () => {
  it('--cluster plans for one; an error is reported and the exit status is greater than 1', async () => {
    const { name } = await come('pl-two');
    const { dead } = await freePorts(['dead']);
    const endpoint = `https://127.0.0.1:${dead}`;
    const two = await Portal.make(site, {
      clusters: { alive: {}, gone: { server: { endpoint }, cluster: 'gone' } },
    });
    await two.writeBerth({
      clusters: { gone: { admin: { kubeconfig: join(two.directory, 'none') } } },
    });

    const one = await two.berth('plan', '--user', name, '--cluster', 'alive');
    const both = await two.berth('plan', '--user', name, '-o', 'json');
    const unknown = await two.berth('plan', '--user', name, '--cluster', 'alif');

    expect(one.exitCode).toBe(1);
    expect(one.stdout).toContain('# cluster alive');
    expect(one.stdout).not.toContain('gone');
    expect(both.exitCode).toBeGreaterThan(1);
    const { sections } = berthDocument(both.stdout) as LoginPlan;
    expect(sections.find(({ title }) => title === 'cluster gone')?.error).toMatchObject({
      code: 'config-missing',
    });
    expect(sections.find(({ title }) => title === 'cluster alive')?.changes).toHaveLength(7);
    expect(unknown).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining('alive') as string,
    });
    await two.remove();
  });
});
