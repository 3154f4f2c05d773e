import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HubUnitHost } from '../../rig/jupyterhub/hub-unit-host.ts';
import { findCheck, runDoctor } from '../../rig/site/doctor-report.ts';
import { listedRights } from '../../rig/site/listed-rights.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { roleBinding, rbacPath, StolenToken, userSubject } from '../../rig/site/stolen-token.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { waitFor } from '../../rig/wait-for.ts';

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;
let stolen: StolenToken;
let ada: TestUser;

const component = new URL('../../../etc/kubernetes/jupyterhub', import.meta.url).pathname;
const hub = { kind: 'ServiceAccount', name: 'hub', namespace: 'jupyterhub' };
const jupyterhub = { namespace: 'jupyterhub', service_account: 'hub' };

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  portal = await Portal.make(site, {
    clusters: { prod: { auth: { type: 'managed' } } },
    berth: { defaults: { jupyterhub } },
  });
  stolen = await StolenToken.take(site, cluster);
  ada = await newcomers.create('hub-ada');
  newcomers.alsoRemove('jupyterhub');
  await cluster.kubectl(['delete', '--ignore-not-found', '-k', component]);
  await cluster.deleteNamespacesAndWait(['jupyterhub']);
  await cluster.create(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'jupyterhub' } },
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'hub', namespace: 'jupyterhub' },
    },
  );
});

afterAll(async () => {
  await cluster.kubectl(['delete', '--ignore-not-found', '-k', component]);
  await newcomers.removeNamespaces();
  await portal.remove();
});

const bindings = (): string => `${rbacPath}/namespaces/${ada.namespace}/rolebindings`;

describe('a portal with a JupyterHub', () => {
  it('is told by doctor what to install', async () => {
    // Another test may just have removed it.
    const report = await waitFor({ what: 'the missing right', timeoutMs: 60_000 }, async () => {
      const seen = await runDoctor(portal);
      return findCheck(seen, 'rights').status === 'ok' ? undefined : seen;
    });

    expect(findCheck(report, 'rights')).toMatchObject({
      status: 'failed',
      message: expect.stringContaining(
        'bind clusterroles.rbac.authorization.k8s.io berth-jupyterhub',
      ) as unknown,
      next: expect.stringMatching(
        /^Run `kubectl apply -k \S+\/etc\/kubernetes\/jupyterhub`\.$/,
      ) as unknown,
    });
  });

  it('lets the hub into the namespace of a user, once that is installed', async () => {
    await cluster.kubectl(['apply', '-k', component]);
    await waitFor({ what: 'the right to bind', timeoutMs: 60_000 }, async () => {
      const { status } = findCheck(await runDoctor(portal), 'rights');
      return status === 'ok' ? true : undefined;
    });
    await stolen.waitForGuardPolicy();

    const { exitCode, stderr } = await portal.prePun(ada.name);

    expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining('error')]);
    expect(
      await cluster.get('rolebinding', 'hub-ada-berth-jupyterhub', ada.namespace),
    ).toMatchObject({
      roleRef: { kind: 'ClusterRole', name: 'berth-jupyterhub' },
      subjects: [hub],
    });
    const label = { 'kubernetes.io/metadata.name': 'jupyterhub' };
    expect(
      await cluster.get('networkpolicy', 'deny-from-other-namespaces', ada.namespace),
    ).toMatchObject({
      spec: {
        ingress: [
          {
            from: expect.arrayContaining([
              { namespaceSelector: { matchLabels: label } },
            ]) as unknown,
          },
        ],
      },
    });
    expect(await runDoctor(portal, '--user', ada.name)).toSatisfy(
      (report: Awaited<ReturnType<typeof runDoctor>>) =>
        ['objects', 'cluster-roles', 'user-namespace'].every(
          (id) => findCheck(report, id).status !== 'failed',
        ),
    );
  });

  it('makes the namespace of a user for the hub, too, by the unit in its sandbox', async () => {
    const eve = await newcomers.create('hub-eve');
    const { berth: config, stateDir } = portal.files;
    const host = await HubUnitHost.boot({ config, writable: [stateDir] });
    try {
      const answer = await host.answer(JSON.stringify({ user: eve.name, cluster: 'prod' }));
      expect(answer).toMatchObject({ user: eve.name, uid: eve.uid, namespace: eve.namespace });
    } finally {
      await host.stop();
    }
    expect(
      await cluster.get('rolebinding', 'hub-eve-berth-jupyterhub', eve.namespace),
    ).toMatchObject({ subjects: [hub] });
  });

  it('gives the hub these rights there, and none elsewhere', async () => {
    const token = await cluster.kubectl('create token hub -n jupyterhub'.split(' '));

    expect(await listedRights(site, token.trim(), ada.namespace)).toEqual([
      'events [] [list watch]',
      'persistentvolumeclaims [] [get create]',
      'pods [] [list watch create delete]',
    ]);
    for (const other of ['default', 'kube-system', 'jupyterhub'])
      expect(await listedRights(site, token.trim(), other)).toEqual([]);
  });
});

describe('a portal without a JupyterHub any more', () => {
  it('lets nobody in with the binding that is there', async () => {
    await portal.writeBerth();
    await portal.prePun(ada.name);
    const binding = () => cluster.get('rolebinding', 'hub-ada-berth-jupyterhub', ada.namespace);
    expect((await binding())?.subjects).toEqual([hub]);

    await portal.writeBerth({ defaults: { jupyterhub: null } });
    const { exitCode } = await portal.prePun(ada.name);

    expect([exitCode, (await binding())?.subjects]).toEqual([0, undefined]);
    expect(
      await cluster.get('networkpolicy', 'deny-from-other-namespaces', ada.namespace),
    ).not.toMatchObject({ spec: { ingress: [{ from: [{}, {}, {}] }] } });
  });
});

describe('with a stolen token of the hook a policy refuses', () => {
  it.each<[string, string, string, object]>([
    [
      'the rights of the hub for another account',
      'berth-jupyterhub',
      'hub-ada-berth-jupyterhub',
      { ...hub, name: 'default' },
    ],
    ['them for the owner', 'berth-jupyterhub', 'hub-ada-ood-user', userSubject('oidc:hub-ada')],
    ['them under another name', 'berth-jupyterhub', 'hub-ada-else', hub],
    ['other rights for the hub', 'ood-user', 'hub-ada-ood-user', hub],
    [
      'other rights under the name',
      'ood-user',
      'hub-ada-berth-jupyterhub',
      userSubject('oidc:hub-ada'),
    ],
  ])('%s', async (_, role, name, subject) => {
    const { status, text } = await stolen.request(
      'POST',
      `${bindings()}?dryRun=All`,
      roleBinding(role, subject, name),
    );

    expect([status, text]).toEqual([
      422,
      expect.stringMatching(/ValidatingAdmissionPolicy 'berth-(?:hook|jupyterhub)-guard'/),
    ]);
  });

  it('the namespace of the hub', async () => {
    const { status, text } = await stolen.request('POST', '/api/v1/namespaces', {
      metadata: { name: 'jupyterhub', annotations: { 'openondemand.org/owner': 'hub-ada' } },
    });

    expect([status, text]).toEqual([422, expect.stringContaining("'berth-jupyterhub-guard'")]);
  });
});
