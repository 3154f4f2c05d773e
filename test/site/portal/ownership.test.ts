import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { LiveCluster, type LiveObject } from '../../rig/site/live-cluster.ts';
import { TestUsers } from '../../rig/site/test-users.ts';
import { runOscHook } from '../../rig/site/osc-hooks.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;
/** Whose token the guard policy does not watch, as on a cluster without one: the hook alone decides. */
let unguarded: Portal;

const managed = { prod: { auth: { type: 'managed' } } };

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  portal = await Portal.make(site, { clusters: managed });
  const kubeconfig = await readFile(site.adminKubeconfig, 'utf8');
  unguarded = await Portal.make(site, { clusters: managed, kubeconfig });
});

afterAll(async () => {
  await newcomers.removeNamespaces();
  await portal.remove();
  await unguarded.remove();
});

const ownerOf = async (namespace: string): Promise<string | undefined> =>
  (await cluster.get('namespace', namespace))?.metadata.annotations?.['openondemand.org/owner'];

describe('user names that map to one namespace', () => {
  it.each([
    ['ow1.b', ['ow1@b', 'ow1-b']],
    ['ow2@b', ['ow2-b', 'ow2.b']],
    ['ow3-b', ['ow3.b', 'ow3@b']],
  ])('%s came first: %s are refused and nothing of theirs is there', async (first, others) => {
    const [{ namespace } = { namespace: '' }] = await newcomers.createAll([first, ...others]);
    await portal.prePun(first);
    await cluster.waitForControllers(namespace);
    const before = await cluster.dump(namespace);

    for (const other of others) {
      const { exitCode, stderr } = await unguarded.prePun(other);

      expect(exitCode).toBe(77);
      expect(stderr).toContain('code=namespace-owned-by-another-user');
      expect(stderr).toContain(`namespace ${namespace} belongs to ${first}, not to ${other}`);
    }
    expect(await cluster.dump(namespace)).toEqual(before);
    expect((await portal.prePun(first)).exitCode).toBe(0);
  });

  it('the first login wins, also with parallel logins', async () => {
    const names = ['ow4.b', 'ow4@b', 'ow4-b'];
    const [{ namespace } = { namespace: '' }] = await newcomers.createAll(names);

    const results = await Promise.all(names.map((name) => unguarded.prePun(name)));

    const owner = await ownerOf(namespace);
    const codes = new Map(names.map((name, index) => [name, results[index]?.exitCode]));
    expect(codes).toEqual(new Map(names.map((name) => [name, name === owner ? 0 : 77])));
    const bindings = (await cluster.dump(namespace)).filter(({ kind }) => kind === 'RoleBinding');
    expect(bindings).toHaveLength(3);
    for (const { metadata } of bindings) expect(metadata.name).toMatch(`${owner ?? ''}-`);
  });
});

describe("a namespace that OSC's hook made", () => {
  it('for this user is adopted with its objects', async () => {
    const { name, namespace } = await newcomers.create('ow-osc');
    await runOscHook(portal, cluster, name);
    await cluster.waitForControllers(namespace);
    expect(await ownerOf(namespace)).toBeUndefined();

    const { exitCode, stderr } = await portal.prePun(name);

    expect(exitCode).toBe(0);
    expect(stderr).toContain('msg="namespace adopted"');
    expect(await ownerOf(namespace)).toBe(name);
    // OSC binds the bare name, which an API server with a prefix does not know.
    expect(await cluster.get('rolebinding', `${name}-ood-user`, namespace)).toMatchObject({
      subjects: [{ kind: 'User', name: `oidc:${name}` }],
    });
    expect((await portal.prePun(name)).stderr).toMatch(/msg="namespace kept"(?!.*repaired)/);
  });

  it('for another user is refused, and stays as it was', async () => {
    await newcomers.createAll(['ow5-b', 'ow5.b']);
    await runOscHook(portal, cluster, 'ow5-b');
    await expectRefused('ow5.b', 'u-ow5-b');
  });
});

describe('a namespace that no hook made', () => {
  it('is refused, and stays as it was', async () => {
    const { name, namespace } = await newcomers.create('ow-plain');
    await cluster.kubectl(['create', 'namespace', namespace]);
    await expectRefused(name, namespace);
  });

  it('is refused with the label of OnDemand alone', async () => {
    const { name, namespace } = await newcomers.create('ow-label');
    const labels = { 'app.kubernetes.io/name': 'open-ondemand' };
    const metadata = { name: namespace, labels };
    await cluster.create({ apiVersion: 'v1', kind: 'Namespace', metadata });
    await expectRefused(name, namespace);
  });

  it('is adopted after the admin annotated its owner, as the error says', async () => {
    const { name, namespace } = await newcomers.create('ow-given');
    await cluster.kubectl(['create', 'namespace', namespace]);
    const { stderr } = await portal.prePun(name);
    const [, advice = ''] = /hint="[^"]*kubectl (annotate [^"]*)"/.exec(stderr) ?? [];
    await cluster.kubectl(advice.split(' '));

    expect((await portal.prePun(name)).exitCode).toBe(0);
  });
});

describe('a namespace in Terminating', () => {
  const held = 'berth.test/held';
  const [waited, stuck] = ['ow-term', 'ow-stuck'];

  beforeAll(async () => {
    // A run that was interrupted leaves them in Terminating for ever.
    for (const name of [waited, stuck]) await release(`u-${name}`);
  });

  it('is waited for until it is deleted, then created', async () => {
    const { name, namespace } = await newcomers.create(waited);
    await portal.prePun(name);
    const old = await cluster.get('namespace', namespace);
    await deleteHeld(namespace);

    const login = portal.prePun(name);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await release(namespace);

    expect(await login).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('msg="namespace created"') as string,
    });
    const made = await cluster.get('namespace', namespace);
    expect(made?.metadata.uid).not.toBe(old?.metadata.uid);
    expect(await cluster.get('rolebinding', `${name}-ood-user`, namespace)).toBeDefined();
  });

  it('that stays is reported at the deadline, with what to check', async () => {
    const { name, namespace } = await newcomers.create(stuck);
    const hasty = await Portal.make(site, { clusters: managed, berth: { deadline: '2s' } });
    await hasty.prePun(name);
    await deleteHeld(namespace);

    const began = performance.now();
    const { exitCode, stderr } = await hasty.prePun(name);

    expect(performance.now() - began).toBeLessThan(4_000);
    expect(exitCode).toBe(75);
    expect(stderr).toContain('code=namespace-terminating');
    expect(stderr).toContain(`kubectl get namespace ${namespace}`);
    await hasty.remove();
  });

  /** The ConfigMap keeps the namespace in Terminating until it is released. */
  async function deleteHeld(namespace: string): Promise<void> {
    const metadata = { name: 'held', namespace, finalizers: [held] };
    await cluster.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
    onTestFinished(() => release(namespace));
    await cluster.deleteNamespaces([namespace]);
    const what = `${namespace} to be in Terminating`;
    await waitFor({ what, timeoutMs: 60_000 }, async () => {
      const live = await cluster.get('namespace', namespace);
      return live?.metadata.deletionTimestamp;
    });
  }

  async function release(namespace: string): Promise<void> {
    if ((await cluster.get('configmap', 'held', namespace)) === undefined) return;
    await cluster.patch('configmap', 'held', namespace, { metadata: { finalizers: null } });
  }
});

async function expectRefused(user: string, namespace: string): Promise<void> {
  await cluster.waitForControllers(namespace);
  const before: readonly LiveObject[] = await cluster.dump(namespace);

  const { exitCode, stderr } = await unguarded.prePun(user);

  expect(exitCode).toBe(77);
  expect(stderr).toContain('code=namespace-owner-unknown');
  expect(await cluster.dump(namespace)).toEqual(before);
}
