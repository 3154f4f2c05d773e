import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { berthDocument } from '../../../rig/berth-document.ts';
import { installDirectory } from '../../../rig/site/portal.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { waitFor } from '../../../rig/wait-for.ts';
import { LiveSession } from '../../../rig/login-node/live-session.ts';
import { startPodHost, type PodHost } from '../../../rig/login-node/pod-host.ts';

vi.setConfig({ hookTimeout: 600_000 });

const [shared, own] = ['an-shared', 'an-own'];
const rights = 'etc/kubernetes/ssh-sessions-list';

/** In place of metrics-server: the real API server serves objects of its kind, with its RBAC and label selectors. */
const metricsKind = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'pods.metrics.k8s.io',
    annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
  },
  spec: {
    group: 'metrics.k8s.io',
    scope: 'Namespaced',
    names: { plural: 'pods', singular: 'pod', kind: 'PodMetrics', listKind: 'PodMetricsList' },
    versions: [
      {
        ...{ name: 'v1beta1', served: true, storage: true },
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
};

let site: Site;
let login1: PodHost;
let login2: PodHost;
beforeAll(async () => {
  site = await openSite();
  await site.kubectl(['delete', '-k', rights, '--ignore-not-found']);
  const options = {
    mode: 'forced',
    users: { [shared]: [], [own]: [] },
    sshYml: { rules: [{ profile: 'shared', users: [shared] }, { profile: 'base' }] },
    profiles: { shared: { lifetime: 'user', grace: '0s' } },
  } as const;
  login1 = await startPodHost(site, { ...options, name: 'login1' });
  login2 = await startPodHost(site, {
    ...{ ...options, name: 'login2', address: '127.0.0.2', beside: login1 },
  });
});
afterAll(async () => {
  await login2.stop();
  await login1.stop();
  await site.kubectl(['delete', 'crd', metricsKind.metadata.name, '--ignore-not-found']);
  await site.kubectl(['delete', '-k', rights, '--ignore-not-found']);
});

const kubectl = async (...args: string[]): Promise<string> => {
  const { exitCode, stdout, stderr } = await site.kubectl(args);
  expect(exitCode, stderr).toBe(0);
  return stdout;
};
const create = async (object: object): Promise<void> => {
  const { exitCode, stderr } = await site.kubectl(['create', '-f', '-'], {
    input: JSON.stringify(object),
  });
  expect(exitCode, stderr).toBe(0);
};
const sessions = async (
  ...args: string[]
): Promise<{ code: number | undefined; out: string; err: string }> => {
  const berth = [`${installDirectory}/berth`, 'sessions', ...args];
  const { exitCode, stdout, stderr } = await login1.host.asRoot(berth);
  return { code: exitCode, out: stdout.toString(), err: stderr };
};
interface Listed {
  readonly sessions: readonly { readonly user: string }[];
  readonly pods: readonly {
    readonly name: string;
    readonly user: string;
    readonly loginNodes: readonly string[];
    readonly cpuCores: number | null;
    readonly memoryBytes: number | null;
  }[];
}
const listed = async (...args: string[]): Promise<Listed> => {
  const { code, out, err } = await sessions('list', '-A', '-o', 'json', ...args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return berthDocument(out) as Listed;
};
const terminal = async (on: PodHost, user: string): Promise<LiveSession> => {
  const session = LiveSession.start(on.host, user, ['-tt', 'echo ready; sleep 9000']);
  await session.waitForOutput('ready');
  return session;
};

it('root of one login node sees and ends the pods of all, and nobody appears as somebody else', async () => {
  const one = await terminal(login1, shared);
  const two = await LiveSession.startReady(login2.host, shared, 'sleep 9000');
  const other = await LiveSession.startReady(login2.host, own, 'sleep 9000');

  // Without the right, this node's sessions are listed all the same.
  const refused = await sessions('list', '-A', '--no-headers');
  expect(refused.out).toMatch(new RegExp(`^\\d+\\.\\d+ +${shared} .*\\n$`));
  expect(refused.err).toMatch(/\[api-forbidden\]\nnext: .*ssh-sessions-list\.yaml/);
  expect(refused.code).not.toBe(0);

  await kubectl('apply', '-k', rights);
  const login = '--as=system:serviceaccount:ondemand:berth-login';
  for (const right of [
    ...['delete pods', 'get pods', 'watch pods', 'create pods', 'list secrets'],
    ...['delete namespaces', 'get pods.metrics.k8s.io', 'create pods/exec'],
  ]) {
    const { stdout } = await site.kubectl(['auth', 'can-i', ...right.split(' '), '-A', login]);
    expect([right, stdout.slice(0, 2)]).toEqual([right, 'no']);
  }

  // Users can create pods in their own namespaces, with any label, and it never runs.
  const disguised = {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: {
      ...{ name: 'berth-shared', namespace: `u-${own}` },
      labels: {
        'app.kubernetes.io/managed-by': 'berth',
        'berth.dev/profile': 'shared',
        'berth.dev/login-host': 'login1',
      },
      annotations: { 'openondemand.org/owner': shared, 'login.berth.dev/login1': '\u001b[2J' },
    },
    spec: {
      nodeSelector: { no: 'node' },
      containers: [{ name: 'session', image: 'localhost/\u200bnone' }],
    },
  };
  await create(disguised);
  // Of a namespace that is no user's.
  const labels = '--labels=app.kubernetes.io/managed-by=berth';
  const spec = '{"spec":{"nodeSelector":{"no":"node"}}}';
  const foreign = ['run', 'berth-foreign', '-n', 'ondemand', '--image=localhost/none', labels];
  await kubectl(...foreign, '--overrides', spec);

  const all = await listed('--user', shared, own);
  await kubectl('delete', 'pod', 'berth-foreign', '-n', 'ondemand', '--now');
  expect(all.sessions.map(({ user }) => user)).toEqual([shared]);
  expect(all.pods.map(({ user, name, loginNodes }) => [user, name, loginNodes])).toEqual([
    [shared, 'berth-shared', ['login1', 'login2']],
    [own, expect.stringMatching(/^berth-base-login2-\d+-\d+$/), ['login2']],
    [own, 'berth-shared', []],
  ]);
  expect(all.pods[0]).toMatchObject({ cpuCores: null, memoryBytes: null });
  const here = await sessions('list', '-A', '-o', 'json', '--from', '127.0.0.1');
  expect(here.code).toBe(0);
  expect(here.err).toContain('--from selects no pods');
  expect((berthDocument(here.out) as Listed).pods).toEqual([]);

  await create(metricsKind);
  const crd = `crd/${metricsKind.metadata.name}`;
  await kubectl('wait', '--for=condition=Established', crd, '--timeout=20s');
  const metric = {
    ...{ apiVersion: 'metrics.k8s.io/v1beta1', kind: 'PodMetrics' },
    metadata: {
      ...{ name: 'berth-shared', namespace: `u-${shared}` },
      labels: { 'app.kubernetes.io/managed-by': 'berth' },
    },
    containers: [{ name: 'session', usage: { cpu: '120345678n', memory: '20480Ki' } }],
  };
  await waitFor({ what: 'the kind to be served', timeoutMs: 60_000, everyMs: 300 }, async () => {
    const input = JSON.stringify(metric);
    return (await site.kubectl(['create', '-f', '-'], { input })).exitCode === 0 || undefined;
  });
  const measured = await sessions('list', '-A', '--user', shared);
  expect(measured).toMatchObject({ code: 0, err: '' });
  expect(measured.out).toMatch(
    new RegExp(
      `^ID .*\\n\\d+\\.\\d+ +${shared} .*\\n\\nPOD +USER +PROFILE-LABEL .*\\nu-${shared}/berth-shared +${shared} +shared +Running .* login1,login2 +121m +20M\\n$`,
    ),
  );
  expect((await sessions('show', `u-${shared}/berth-shared`)).out).toMatch(/^Cluster: +prod$/m);

  // A pod that only another login node uses.
  const pod = all.pods[1]?.name ?? '';
  expect(await sessions('end', `u-${own}/${pod}`)).toEqual({
    ...{ code: 0, err: '' },
    out: `ended pod u-${own}/${pod} of ${own}\n`,
  });
  expect(await other.exitCode()).not.toBe(0);
  // With the last connection ends what has the name of a node that has none.
  await waitFor({ what: 'the end of the other pod', timeoutMs: 60_000 }, async () =>
    (await kubectl('get', 'pods', '-o', 'name', '-n', `u-${own}`)) === '' ? true : undefined,
  );
  await create(disguised);

  // Who is in the pod on this node is told.
  const ended = await sessions(
    ...['end', `u-${shared}/berth-shared`, '--grace', '2s', '--message', 'maintenance'],
  );
  expect(ended).toMatchObject({ code: 0, err: '' });
  await Promise.all([one.exitCode(), two.exitCode()]);
  expect(one.output).toContain('*** This session ends in 2 s. maintenance ***');
  expect(await sessions('end', `u-${shared}/berth-shared`)).toMatchObject({ code: 69 });

  const rest = await sessions('end', '--all', '-A', '--user', own);
  expect(rest).toMatchObject({ code: 0, out: `ended pod u-${own}/berth-shared of ${own}\n` });
  expect(await sessions('end', '--all', '-A', '--user', own)).toEqual({
    ...{ code: 0, out: '', err: 'no session on this node and no pod matches the filters\n' },
  });
});
