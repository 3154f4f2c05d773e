import { describe, expect, it } from 'vitest';
import type { ClusterSettings } from '../../../src/config/schema/settings.ts';
import { userObjectsOn } from '../../../src/clusters/access/bootstrap-user.ts';
import type { ApiClient, ApiRequest } from '../../../src/kube/api-client.ts';
import { requiredRights, rightsForRequest, rightText } from '../../../src/kube/required-rights.ts';
import { reconcileUser } from '../../../src/kube/reconcile-user.ts';
import { exampleCluster, exampleUser } from '../example-cluster.ts';

const cluster: ClusterSettings = {
  ...exampleCluster,
  subjectPrefix: 'oidc:',
  allowedCidrs: ['10.0.0.0/8'],
  pullSecret: { name: 'pull', dockerConfigFile: '/etc/docker.json' },
  resourceQuota: { hard: { pods: '10' } },
  limitRange: { limits: [] },
};
const objects = userObjectsOn({
  user: exampleUser,
  cluster,
  now: 1,
  dockerConfig: '{"auths":{}}',
});

/** An API server that only takes notes: what it answers leads the hook down one of its ways. */
async function requestsWhere(
  expectNew: boolean,
  answer: (request: ApiRequest) => { status: number; body: Record<string, unknown> },
): Promise<ApiRequest[]> {
  const seen: ApiRequest[] = [];
  const client: ApiClient = {
    send: (request) => {
      seen.push(request);
      return Promise.resolve(answer(request));
    },
    close: () => undefined,
  };
  const deadline = AbortSignal.timeout(5_000);
  await reconcileUser({ client, user: 'alice', objects, expectNew, deadline });
  return seen;
}

const list = { status: 200, body: { items: [] } };
const isList = ({ method, path }: ApiRequest): boolean =>
  method === 'GET' && path.endsWith('/rolebindings');
const isNamespace = ({ path }: ApiRequest): boolean =>
  /\/namespaces\/[^/]+$/.test(path.split('?')[0] ?? '');

describe('the rights that doctor asks for', () => {
  it('cover every request of a first login', async () => {
    const requests = await requestsWhere(true, ({ method }) => ({
      status: method === 'POST' ? 201 : 200,
      body: {},
    }));
    expectCovered(requests);
  });

  it('cover every request of a later login that finds everything gone', async () => {
    const requests = await requestsWhere(false, (request) => {
      if (isList(request)) return list;
      if (request.method === 'GET') return { status: 404, body: {} };
      return { status: 200, body: { metadata: { name: 'u-alice' } } };
    });
    expect(requests.length).toBeGreaterThan(15);
    expectCovered(requests);
  });

  it("cover every request of the login that adopts a namespace of OSC's hook", async () => {
    const namespace = {
      metadata: {
        name: 'u-alice',
        labels: { 'app.kubernetes.io/name': 'open-ondemand' },
        annotations: { 'openondemand.org/last-hook-execution': '1' },
      },
    };
    const binding = { metadata: { name: 'alice-ood-user' }, roleRef: { name: 'ood-user' } };
    const requests = await requestsWhere(false, (request) => {
      if (isList(request)) return { status: 200, body: { items: [binding] } };
      if (request.contentType === 'application/json-patch+json') return { status: 422, body: {} };
      if (isNamespace(request)) return { status: 200, body: namespace };
      return { status: request.method === 'GET' ? 404 : 200, body: {} };
    });
    expectCovered(requests);
  });

  it('hold nothing that no login asks for, but to bind the roles', async () => {
    const first = await requestsWhere(true, ({ method }) => ({
      status: method === 'POST' ? 201 : 200,
      body: {},
    }));
    const later = await requestsWhere(false, (request) =>
      isList(request)
        ? list
        : { status: request.method === 'GET' ? 404 : 200, body: { metadata: {} } },
    );
    const used = new Set([...first, ...later].flatMap(rightsForRequest).map(rightText));
    const unused = requiredRights(objects)
      .map(rightText)
      .filter((right) => !used.has(right));
    expect(unused).toEqual([
      // Adopting reads the namespace and applies it.
      'get namespaces u-alice',
      'create namespaces u-alice',
      'bind clusterroles.rbac.authorization.k8s.io ood-initializer in u-alice',
      'bind clusterroles.rbac.authorization.k8s.io ood-user in u-alice',
      'bind clusterroles.rbac.authorization.k8s.io job-pod-reaper in u-alice',
    ]);
  });
});

describe('a request as RBAC sees it', () => {
  it.each([
    ['GET', '/api/v1/namespaces/u-a', undefined, ['get namespaces u-a']],
    ['POST', '/api/v1/namespaces?fieldManager=x', undefined, ['create namespaces']],
    [
      'PATCH',
      '/apis/networking.k8s.io/v1/namespaces/u-a/networkpolicies/n?force=true',
      'application/apply-patch+yaml',
      [
        'patch networkpolicies.networking.k8s.io n in u-a',
        'create networkpolicies.networking.k8s.io n in u-a',
      ],
    ],
    [
      'POST',
      '/api/v1/namespaces/ondemand/serviceaccounts/berth-hook/token',
      undefined,
      ['create serviceaccounts/token berth-hook in ondemand'],
    ],
    ['PATCH', '/api/v1/namespaces/u-a', 'application/json-patch+json', ['patch namespaces u-a']],
  ] as const)('%s %s', (method, path, contentType, rights) => {
    const request = { method, path, ...(contentType === undefined ? {} : { contentType }) };
    expect(rightsForRequest(request).map(rightText)).toEqual(rights);
  });
});

function expectCovered(requests: readonly ApiRequest[]): void {
  const table = new Set(requiredRights(objects).map(rightText));
  const missing = requests
    .flatMap(rightsForRequest)
    .map(rightText)
    .filter((right) => !table.has(right));
  expect(missing).toEqual([]);
}
