import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { hasMutatingPolicies } from '../../../rig/site/kubernetes/versions.ts';
import { LiveCluster } from '../../../rig/site/live-cluster.ts';
import { ensureNode } from '../../../rig/site/kubernetes-node/node.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { waitFor } from '../../../rig/wait-for.ts';
import { refusedLogin } from '../../../rig/login-node/refused-login.ts';
import { startPodHost, type PodHost } from '../../../rig/login-node/pod-host.ts';

vi.setConfig({ hookTimeout: 600_000 });

/** Each user has the profile of the same fault. */
const faults = [
  ...[
    'away',
    'denied',
    'never',
    'place',
    'quota',
    'uncounted',
    'policy',
    'label',
    'mount',
    'crowd',
  ],
] as const;
const userOf = (fault: string): string => `pf-${fault}`;
const namespaceOf = (fault: string): string => `u-${userOf(fault)}`;

let site: Site;
let pods: PodHost;
let cluster: LiveCluster;
beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  const { registry } = await ensureNode(site);
  const [address = ''] = registry.address.split(':');
  pods = await startPodHost(site, {
    mode: 'forced',
    users: Object.fromEntries(faults.map((fault) => [userOf(fault), []])),
    sshYml: { rules: faults.map((fault) => ({ profile: fault, users: [userOf(fault)] })) },
    profiles: {
      away: { image: `${address}:9/tools:1`, pull: 'always' },
      denied: { image: `${registry.address}/private:1`, pull: 'always' },
      never: { image: 'localhost/never-built:1', pull: 'never' },
      place: { pod: { node_selector: { 'example.org/gpus': 'many' } }, deadline: '3s' },
      mount: { mounts: [{ source: '/home/of/nobody', target: '/data' }], deadline: '5s' },
      ...{ quota: {}, uncounted: {}, policy: {}, label: {}, crowd: {} },
    },
  });
});
afterAll(async () => {
  await cluster.kubectl(['delete', ...policyNames(), '--ignore-not-found']);
  await cluster.deleteNamespaces(faults.map(namespaceOf));
  await pods.stop();
});

const policyNames = (): string[] =>
  ['validating', 'mutating']
    .filter((kind) => kind === 'validating' || hasMutatingPolicies(site.record.kubernetesMinor))
    .flatMap((kind) => [`${kind}admissionpolicybinding/pf`, `${kind}admissionpolicy/pf`]);
const podNames = async (fault: string): Promise<string> =>
  (await site.kubectl(['-n', namespaceOf(fault), 'get', 'pods', '-o', 'name'])).stdout;
/** What the session's one line says, and that nothing of it stays on the cluster. */
const refused = async (fault: string): Promise<{ line: string; code: string }> => {
  const { line, code } = await refusedLogin(pods.host, userOf(fault), { timeout: 90_000 });
  await expect.poll(() => podNames(fault)).toBe('');
  return { line, code };
};
/** Until the quota controller has counted, a quota limits nothing. */
const isCounted = (fault: string, resource: string): Promise<void> =>
  expect
    .poll(() => cluster.get('resourcequota', 'few', namespaceOf(fault)))
    .toMatchObject({ status: { used: { [resource]: '0' } } });
/** How many pods the API server has refused to create. */
const refusedPods = async (): Promise<number> => {
  const count = /^apiserver_request_total\{code="403",.*resource="pods",.*verb="POST".*\} (\d+)$/gm;
  const metrics = await cluster.kubectl(['get', '--raw', '/metrics']);
  return [...metrics.matchAll(count)].reduce((sum, [, value]) => sum + Number(value), 0);
};
/** The first login makes the namespace; what is in it is the fault. */
const makeNamespace = async (fault: string): Promise<void> => {
  expect(await pods.host.ssh(userOf(fault), ['true'])).toMatchObject({ exitCode: 0 });
};

/** An admission policy of the site, for the pods of one user. */
const makePolicy = (
  kind: 'Validating' | 'Mutating',
  fault: string,
  spec: object,
): Promise<void> => {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const metadata = { name: 'pf' };
  const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
  const resourceRules = [{ ...rule, operations: ['CREATE'] }];
  const matchLabels = { 'kubernetes.io/metadata.name': namespaceOf(fault) };
  const binding = { policyName: 'pf', matchResources: { namespaceSelector: { matchLabels } } };
  return cluster.create(
    {
      apiVersion,
      kind: `${kind}AdmissionPolicy`,
      metadata,
      spec: { matchConstraints: { resourceRules }, ...spec },
    },
    {
      apiVersion,
      kind: `${kind}AdmissionPolicyBinding`,
      metadata,
      spec: kind === 'Validating' ? { ...binding, validationActions: ['Deny'] } : binding,
    },
  );
};

describe('a pod that cannot start', () => {
  it('tells that the registry does not answer', async () => {
    const { line, code } = await refused('away');
    expect(code).toBe('pod-registry-unreachable');
    expect(line).toContain('could not be pulled: its registry does not respond: ');
    // The kubelet has tried twice, with 10 to 30 seconds between.
    expect(line).toMatch(/ImagePullBackOff: .*:9\/.*connection refused/);
  });

  it('reports that the registry denies access to the image', async () => {
    const { line, code } = await refused('denied');
    expect(code).toBe('pod-image-denied');
    expect(line).toContain('its registry denies access to the cluster: ErrImagePull: ');
  });

  it('tells that the image is not on the node, where none is pulled', async () => {
    const { line, code } = await refused('never');
    expect(code).toBe('pod-image-missing');
    expect(line).toContain('the image of your session is not on its node: ');
    expect(line).toContain('localhost/never-built:1');
  });

  it('tells that no node has a place for it, and for how long it has asked', async () => {
    const { line, code } = await refused('place');
    expect(code).toBe('pod-unschedulable');
    expect(line).toContain('did not start within 3 s (waiting for a node): ');
    expect(line).toContain("didn't match Pod's node affinity/selector");
  });

  it('tells which directory its node does not have', async () => {
    const { line, code } = await refused('mount');
    expect(code).toBe('pod-start-deadline');
    expect(line).toContain('/home/of/nobody is not a directory');
  });

  it('tells of the quota', async () => {
    await makeNamespace('quota');
    await cluster.create({
      ...{ apiVersion: 'v1', kind: 'ResourceQuota' },
      metadata: { name: 'few', namespace: namespaceOf('quota') },
      spec: { hard: { 'requests.memory': '1Mi' } },
    });
    await isCounted('quota', 'requests.memory');
    const { line, code } = await refused('quota');
    expect(code).toBe('pod-quota');
    expect(line).toContain('your session exceeds your quota: ');
    expect(line).toContain('limited: requests.memory=1Mi');
  });

  it('waits while the quota controller has not counted', async () => {
    await makeNamespace('uncounted');
    await expect.poll(() => podNames('uncounted')).toBe('');
    const namespace = namespaceOf('uncounted');
    const quota = (pods: string) => ({ spec: { hard: { pods } } });
    const metadata = { name: 'few', namespace };
    await cluster.create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata, ...quota('6') });
    await isCounted('uncounted', 'pods');
    // The quota controller counts again when the specification changes.
    const patch = ['--subresource=status', '--type=json', '-p'];
    const uncounted = JSON.stringify([{ op: 'remove', path: '/status/used' }]);
    await cluster.kubectl(['-n', namespace, 'patch', 'quota', 'few', ...patch, uncounted]);
    const before = await refusedPods();
    const login = pods.host.ssh(userOf('uncounted'), ['echo in']);
    await expect.poll(refusedPods, { interval: 500 }).toBeGreaterThan(before);
    await cluster.patch('resourcequota', 'few', namespace, quota('7'));
    const { exitCode, stdout, stderr } = await login;
    expect([exitCode, stdout.toString(), stderr]).toEqual([0, 'in\n', '']);
  });

  it('tells what a policy of the cluster says', async () => {
    await makeNamespace('policy');
    const refusal = { expression: 'false', message: 'no sessions on Sundays' };
    await makePolicy('Validating', 'policy', { validations: [refusal] });
    await waitFor({ what: 'the policy to hold', timeoutMs: 60_000 }, async () =>
      (await pods.host.ssh(userOf('policy'), ['true'])).exitCode === 0 ? undefined : true,
    );
    const { line, code } = await refused('policy');
    expect(code).toBe('pod-refused');
    expect(line).toMatch(/the cluster refuses your session: .*: no sessions on Sundays/);
  });

  it('names the label by which Berth finds it, if a policy of the cluster writes another', async () => {
    if (!hasMutatingPolicies(site.record.kubernetesMinor)) return;
    await makeNamespace('label');
    await expect.poll(() => podNames('label')).toBe('');
    const patch =
      '{op: "add", path: "/metadata/labels/app.kubernetes.io~1managed-by", value: "us"}';
    const jsonPatch = { expression: `[JSONPatch${patch}]` };
    await makePolicy('Mutating', 'label', {
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      mutations: [{ patchType: 'JSONPatch', jsonPatch }],
    });
    await waitFor({ what: 'the policy to hold', timeoutMs: 60_000 }, async () =>
      (await pods.host.ssh(userOf('label'), ['true'])).exitCode === 0 ? undefined : true,
    );
    const { line, code } = await refused('label');
    expect(code).toBe('pod-changed');
    expect(line).toContain('changed the label app.kubernetes.io/managed-by of your session');
  });
});

describe('thirty connections at once, each with a pod of its own', () => {
  it('get one, or are told that the quota is used up', async () => {
    await makeNamespace('crowd');
    await expect.poll(() => podNames('crowd')).toBe('');
    await cluster.create({
      ...{ apiVersion: 'v1', kind: 'ResourceQuota' },
      metadata: { name: 'few', namespace: namespaceOf('crowd') },
      spec: { hard: { pods: '6' } },
    });
    await isCounted('crowd', 'pods');
    const ends = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const command = ['echo in; sleep 2'];
        const { exitCode, stdout, stderr } = await pods.host.ssh(userOf('crowd'), command, {
          timeout: 120_000,
        });
        return { exitCode, said: `${stdout.toString()}${stderr}` };
      }),
    );
    for (const { exitCode, said } of ends)
      if (exitCode === 0) expect(said).toBe('in\n');
      else {
        expect(exitCode, said).toBe(255);
        expect(said).toMatch(/^login: your session exceeds your quota: .*\[pod-quota, /);
        expect(said).toContain('limited: pods=6');
      }
    const admitted = ends.filter(({ exitCode }) => exitCode === 0);
    expect(admitted.length).toBeGreaterThanOrEqual(6);
    expect(admitted.length).toBeLessThan(30);
    await expect.poll(() => podNames('crowd')).toBe('');
  });
});
