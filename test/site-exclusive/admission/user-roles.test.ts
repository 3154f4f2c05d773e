import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unsafeRights } from '../../../src/kube/objects/unsafe-role-rights.ts';
import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { AdmissionSite } from '../../rig/admission/admission-site.ts';
import { siteParameters, testUser } from '../../rig/admission/test-user.ts';
import { ensureNode } from '../../rig/site/kubernetes-node/node.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { expectRefusal } from './expect-refusal.ts';
import { type HostileObject, isUnknown, podWith } from './hostile.ts';
import { claimOf, hostileClaims } from './hostile-claims.ts';
import { hostileChanges, victim } from './hostile-requests.ts';
import { hostileTemplates } from './hostile-templates.ts';

let site: Site;
let admission: AdmissionSite;
/** On the node, if there is one. */
let image: string = testUser.image;

const component = new URL('../../../etc/kubernetes/user-roles', import.meta.url).pathname;
/** A role that Berth binds, with everything that makes pods or changes them. */
const workloads = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'berth-test-workloads' },
  rules: [
    { apiGroups: [''], resources: ['pods/ephemeralcontainers'], verbs: ['get', 'patch'] },
    {
      apiGroups: ['apps'],
      resources: ['deployments', 'statefulsets', 'replicasets'],
      verbs: ['get', 'create', 'update', 'patch'],
    },
  ],
};

beforeAll(async () => {
  site = await openSite();
  if (site.skipReason('node') === undefined) image = await (await ensureNode(site)).image('site');
  const images = [...siteParameters.images, image.replace(/\/.*/, '')];
  admission = await AdmissionSite.install(site, { ...siteParameters, images });
  const { cluster, namespace } = admission;
  await cluster.kubectl(['apply', '-k', component]);
  await cluster.create(workloads);
  const full = await cluster.get('rolebinding', 'everything', namespace);
  const [user] = full?.subjects as readonly object[];
  const account = { kind: 'ServiceAccount', name: 'berth-user', namespace };
  await cluster.delete('rolebinding', 'everything', namespace);
  await cluster.create(
    ...['ood-user', 'berth-dask', workloads.metadata.name].map((name) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name, namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [user, account],
    })),
  );
  await waitFor({ what: 'the rights', timeoutMs: 60_000 }, async () => {
    const [job, role] = [goodJob('try'), await tried('POST', 'rolebindings', {})];
    return (await admission.create(job)).status === 201 && role.status === 403 ? true : undefined;
  });
  expect((await admission.create(victim, { keep: true })).status).toBe(201);
});

afterAll(async () => {
  const { cluster } = admission;
  await admission.remove();
  await cluster.kubectl(['delete', '--ignore-not-found', '-k', component]);
  await cluster.kubectl(['delete', '--ignore-not-found', `clusterrole/${workloads.metadata.name}`]);
});

const tried = (
  method: string,
  path: string,
  body: object,
): ReturnType<AdmissionSite['request']> => {
  const group = path.startsWith('jobs') ? 'apis/batch' : 'api';
  const where = `/${group}/v1/namespaces/${admission.namespace}/${path}?dryRun=All`;
  return admission.request(method, where, body);
};

function goodJob(name: string, more: object = {}): Manifest {
  const { spec } = podWith({ restartPolicy: 'Never' });
  return {
    ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name } },
    spec: { ...more, template: { spec } },
  };
}

const kinds = ['Job', 'Deployment', 'StatefulSet', 'ReplicaSet'];
const templates = hostileTemplates.filter(({ object }) => kinds.includes(object.kind));
const ephemeral = hostileChanges.filter(({ path }) => path.endsWith('/ephemeralcontainers'));

describe('a user with user_roles cannot have', () => {
  it.each([...templates, ...hostileClaims].map((one) => [one.way, one] as const))(
    '%s',
    async (_, hostile: HostileObject) => {
      const answer = await admission.create(hostile.object);
      if (isUnknown(hostile, site.record.kubernetesMinor)) expect(answer.status).not.toBe(403);
      else expectRefusal(admission, answer, hostile);
    },
  );

  it.each(ephemeral.map((one) => [one.way, one] as const))('%s', async (_, hostile) => {
    const { method, path, body = {}, contentType } = hostile;
    const where = `/api/v1/namespaces/${admission.namespace}/${path}?dryRun=All`;
    const answer = await admission.request(method, where, body, contentType);
    if (isUnknown(hostile, site.record.kubernetesMinor)) expect(answer.status).not.toBe(403);
    else expectRefusal(admission, answer, hostile);
  });

  it('a Job that is suspended while it is harmless, and then changed', async () => {
    const made = await admission.create(goodJob('waits', { suspend: true }), { keep: true });
    expect([made.status, made.message]).toEqual([201, '']);
    const patch = (template: object): ReturnType<typeof tried> =>
      tried('PATCH', 'jobs/waits', { spec: { template } });

    expect(await patch({ spec: { nodeSelector: { pool: 'dask' } } })).toMatchObject({
      status: 200,
    });
    const tolerations = await patch({ spec: { tolerations: [{ operator: 'Exists' }] } });
    expect([tolerations.status, tolerations.message]).toEqual([
      403,
      expect.stringContaining('spec.tolerations'),
    ]);
    const annotations = { 'k8s.v1.cni.cncf.io/networks': 'storage' };
    const network = await patch({ metadata: { annotations } });
    expect([network.status, network.message]).toEqual([
      403,
      expect.stringContaining('metadata.annotations k8s.v1.cni.cncf.io/networks'),
    ]);
  });

  it.each([
    ['POST', 'rolebindings', {}],
    ['POST', 'serviceaccounts/default/token', {}],
    ['POST', 'pods/victim/attach', {}],
    ['PATCH', 'persistentvolumeclaims/x', {}],
    ['PATCH', 'resourcequotas/ondemand', {}],
    ['PATCH', 'jobs/waits/status', {}],
  ])('the right to %s %s', async (method, path, body) => {
    const { status, message } = await tried(method, path, body);

    expect([status, message]).toEqual([403, expect.stringContaining('cannot')]);
    expect(message).not.toContain('AdmissionPolicy');
  });

  it('anything that the API server serves and Berth does not know', async () => {
    const read = async (path: string): Promise<unknown> =>
      JSON.parse(await admission.cluster.kubectl(['get', '--raw', path]));
    const { groups } = (await read('/apis')) as {
      groups: { versions: { groupVersion: string }[] }[];
    };
    const versions = groups.flatMap((one) => one.versions.map(({ groupVersion }) => groupVersion));
    const lists = await Promise.all(
      ['/api/v1', ...versions.map((one) => `/apis/${one}`)].map(async (path) => {
        const list = (await read(path)) as { resources: { name: string; namespaced: boolean }[] };
        const [, group = ''] = /^\/apis\/([^/]+)/.exec(path) ?? [];
        return list.resources
          .filter(({ namespaced }) => namespaced)
          .map(({ name }) => ({ group, name }));
      }),
    );
    const writable = lists.flat().filter(({ group, name }) => {
      const rule = { apiGroups: [group], resources: [name], verbs: ['create', 'update'] };
      return unsafeRights({ rules: [rule] }).length === 0;
    });
    const groupsOfThem = new Set(writable.map(({ group }) => group));
    expect([...groupsOfThem].sort()).toEqual([
      ...['', 'apps', 'authorization.k8s.io', 'autoscaling', 'batch', 'coordination.k8s.io'],
      ...['events.k8s.io', 'resource.k8s.io'],
    ]);
    const subresources = writable.flatMap(({ name }) => (name.includes('/') ? [name] : []));
    expect([...new Set(subresources)].sort()).toEqual([
      ...['deployments/scale', 'pods/attach', 'pods/ephemeralcontainers', 'pods/eviction'],
      ...['pods/exec', 'pods/portforward', 'pods/proxy', 'pods/resize', 'replicasets/scale'],
      ...['replicationcontrollers/scale', 'services/proxy', 'statefulsets/scale'],
    ]);
  });

  it('more by the role itself', () => {
    expect(unsafeRights(workloads)).toEqual([]);
  });
});

describe('a user with berth-dask', () => {
  it('can have Jobs and claims', async () => {
    expect(await admission.create(goodJob('works'))).toMatchObject({ status: 201 });
    expect(await admission.create(claimOf({}))).toMatchObject({ status: 201 });
  });

  it('executes programs in a container that runs, as the user, and in none that has ended', async ({
    skip,
  }) => {
    skip(site.skipReason('node') !== undefined, site.skipReason('node'));
    const container = (name: string, command: string): object => ({
      ...{ name, image, command: ['sh', '-c', command] },
    });
    const pod: Manifest = {
      ...testUser.pod('dask'),
      spec: {
        restartPolicy: 'Never',
        containers: [
          container('ended', 'exit 0'),
          container('main', 'exec python3 -m http.server -d /proc 8080'),
        ],
      },
    };
    const made = await admission.create(pod, { keep: true });
    expect([made.status, made.message]).toEqual([201, '']);
    const state = '{.status.containerStatuses[*].state}';
    await waitFor({ what: 'one container to end', timeoutMs: 60_000 }, async () => {
      const { stdout } = await admission.kubectl(['get', 'pod/dask', `-ojsonpath=${state}`]);
      return stdout.includes('terminated') && stdout.includes('running') ? true : undefined;
    });
    const exec = (name: string, command = 'id -u'): ReturnType<AdmissionSite['kubectl']> =>
      admission.kubectl(['exec', 'dask', '-c', name, '--', 'sh', '-c', command]);

    expect(await exec('main')).toMatchObject({ exitCode: 0, stdout: String(testUser.uid) });
    const ended = await exec('ended');
    expect([ended.exitCode, ended.stdout]).toEqual([1, '']);
    await waitFor({ what: 'the web server', timeoutMs: 60_000 }, async () =>
      (await exec('main', 'nc -z 127.0.0.1 8080')).exitCode === 0 ? true : undefined,
    );
    expect(await forwarded('dask', 8080)).toBe(200);
  });
});

/** The status with which a web server in the user's pod answers through `kubectl port-forward`. */
async function forwarded(pod: string, port: number): Promise<number | undefined> {
  const { cluster, namespace } = admission;
  const token = await cluster.kubectl(['create', 'token', 'berth-user', '-n', namespace]);
  const argv = [
    ...[`--server=${site.server}`, `--certificate-authority=${site.ca.file}`],
    ...[`--token=${token.trim()}`, `--namespace=${namespace}`, '--kubeconfig=/dev/null'],
    ...['port-forward', `pod/${pod}`, `:${port}`],
  ];
  const kubectl = execa(site.kubectlPath, argv, { reject: false, timeout: 30_000 });
  let status: number | undefined;
  for await (const line of kubectl) {
    const [, local] = /^Forwarding from 127\.0\.0\.1:(\d+)/.exec(line) ?? [];
    if (local === undefined) continue;
    const answer = fetch(`http://127.0.0.1:${local}/version`);
    status = (await answer.finally(() => kubectl.kill())).status;
  }
  return status;
}
