import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { AdmissionSite } from '../../rig/admission/admission-site.ts';
import { testUser as ada } from '../../rig/admission/test-user.ts';
import { baseDn, groupEntry, personEntry, readerAccount, Slapd } from '../../rig/slapd.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { ensureNode, type TestNode } from '../../rig/site/kubernetes-node/node.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { CronJobs, type Run } from './cron-jobs.ts';
import { berthImage } from './image.ts';

let site: Site;
let node: TestNode;
let cluster: LiveCluster;
let admission: AdmissionSite;
let jobs: CronJobs;

/**
 * Of this test alone: what the kubelet has once tried to pull for another pod, it gives to none without a
 * pull that succeeded, also when it is there.
 */
const image = 'registry.example.org/tools/in-cluster:1';

/** ada's namespace is one of the hook's, and one that the admission policies look at. */
beforeAll(async () => {
  site = await openSite();
  if (site.skipReason('node') !== undefined) return;
  node = await ensureNode(site);
  cluster = new LiveCluster(site);
  admission = await AdmissionSite.install(site);
  await cluster.kubectl([
    ...['label', 'namespace', admission.namespace, 'app.kubernetes.io/name=open-ondemand'],
    ...[`berth.dev/test=${admission.namespace}`],
  ]);
  // Under the name that etc/kubernetes/admission gives it.
  await cluster.kubectl(['apply', '-f', '-'], stampRole);
  jobs = await CronJobs.install(cluster, await berthImage(node));
}, 300_000);
beforeEach(({ skip }) => {
  const reason = site.skipReason('node');
  skip(reason !== undefined, reason);
});
afterAll(async () => {
  if (site.skipReason('node') !== undefined) return;
  await jobs.remove();
  await admission.remove();
  await cluster.kubectl(['delete', 'clusterrole', 'berth-identity-stamper']);
});

const stampRole = JSON.stringify({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'berth-identity-stamper' },
  rules: [{ apiGroups: ['openondemand.org'], resources: ['identities'], verbs: ['stamp'] }],
});

const selector = (): string =>
  `app.kubernetes.io/name=open-ondemand,berth.dev/test=${admission.namespace}`;

/** Nobody's pod, with a token of its own account and nothing that it could write to. */
function expectNobody({ spec }: Run, account: string): void {
  const [container] = spec.containers;
  expect(spec).toMatchObject({
    serviceAccountName: account,
    securityContext: { runAsNonRoot: true, runAsUser: 65534 },
  });
  expect(container?.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  expect(container?.volumeMounts.filter(({ readOnly }) => readOnly !== true)).toEqual([]);
  const [token] = spec.volumes.filter(({ projected }) => projected !== undefined);
  expect(token?.projected).toMatchObject({
    sources: expect.arrayContaining([
      { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
    ]) as unknown,
  });
}

describe('the CronJob of berth reap', () => {
  it(
    'ends a pod that runs past its lifetime, and leaves the one that has time',
    { timeout: 300_000 },
    async () => {
      const at = admission.namespace;
      await node.ctr(['images', 'tag', '--force', await node.image('busybox'), image]);
      const pod = (name: string, lifetime: string): object => ({
        ...ada.pod(name),
        metadata: {
          ...{ name, namespace: at, labels: { 'app.kubernetes.io/managed-by': 'open-ondemand' } },
          annotations: { 'pod.kubernetes.io/lifetime': lifetime },
        },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [
            {
              ...{ name: 'main', image, imagePullPolicy: 'IfNotPresent' },
              // Ends at SIGTERM, which PID 1 is deaf to otherwise.
              command: ['sh', '-c', 'trap exit TERM; sleep 600 & wait'],
            },
          ],
        },
      });
      await cluster.create(pod('old', '1s'), pod('young', '1h0m0s'));
      const ready = ['wait', '--for=condition=Ready', 'pod/old', 'pod/young', '-n', at];
      await cluster.kubectl([...ready, '--timeout=110s']);
      await jobs.apply('reaper', ['--namespace-selector', selector()]);

      const run = await jobs.run('berth-reaper');

      expect([run.exitCode, run.log]).toEqual([0, `in-cluster: ended pod ${at}/old, lifetime 1s`]);
      expectNobody(run, 'berth-reaper');
      await waitFor({ what: 'the pod to be gone', timeoutMs: 60_000 }, async () =>
        (await cluster.get('pod', 'old', at)) === undefined ? true : undefined,
      );
      expect((await cluster.get('pod', 'young', at))?.metadata.deletionTimestamp).toBeUndefined();
      const events = await cluster.kubectl(['get', 'events', '-n', at, '-o', 'json']);
      expect(events).toContain('LifetimeExceeded');
    },
  );
});

describe('the CronJob of berth ldap-sync', () => {
  let slapd: Slapd;
  let directory: string;
  const objects = ['configmap/berth-ldap-sync-config', 'secret/berth-ldap-sync-bind'];
  const forget = (): Promise<unknown> =>
    cluster.kubectl([
      ...['delete', '-n', 'ondemand', '--ignore-not-found', ...objects],
      'configmap/berth-ldap-sync',
    ]);

  beforeAll(async () => {
    if (site.skipReason('node') !== undefined) return;
    const certificate = await site.certificates.server('slapd-of-pods', [node.machineAddress]);
    slapd = await Slapd.start({ certificate, ca: site.ca.file, address: node.machineAddress }, [
      personEntry('ada', 20001),
      groupEntry('users', 100),
      groupEntry('chem', 30000, ['ada']),
    ]);
    directory = await mkdtemp(join(tmpdir(), 'ldap-sync-'));
    const ldap = {
      url: `ldaps://${node.machineAddress}:${slapd.ports.ldaps}`,
      ca_file: '/etc/berth/ldap-ca.pem',
      bind_dn: readerAccount.dn,
      bind_password_file: '/etc/berth/ldap-password',
      namespace_selector: selector(),
      users: { base: `ou=people,${baseDn}` },
      groups: { base: `ou=groups,${baseDn}` },
    };
    await writeFile(join(directory, 'berth.yml'), stringify({ ldap }));
    await writeFile(join(directory, 'ca.pem'), site.ca.pem);
    await writeFile(join(directory, 'password'), readerAccount.password);
    await forget();
    // As etc/kubernetes/ldap-sync/ldap-sync.yaml says.
    const create = ['create', '-n', 'ondemand'];
    await cluster.kubectl([
      ...[...create, 'configmap', 'berth-ldap-sync-config'],
      ...[`--from-file=${directory}/berth.yml`, `--from-file=${directory}/ca.pem`],
    ]);
    await cluster.kubectl([
      ...[...create, 'secret', 'generic', 'berth-ldap-sync-bind'],
      `--from-file=${directory}/password`,
    ]);
    await jobs.apply('ldap-sync');
  });
  afterAll(async () => {
    if (site.skipReason('node') !== undefined) return;
    await forget();
    await slapd.remove();
    await rm(directory, { recursive: true });
  });

  const identity = async (): Promise<object> => {
    const live = await cluster.get('namespace', admission.namespace);
    return live?.metadata.annotations ?? {};
  };

  it('changes nothing while the directory is unreachable, and its pod reports that', async () => {
    const before = await identity();
    await slapd.stopServer();
    try {
      const { exitCode, log } = await jobs.run('berth-ldap-sync');

      expect(exitCode).toBe(75);
      expect(log).toContain('[ldap-');
    } finally {
      await slapd.startServer();
    }
    expect(await identity()).toEqual(before);
  });

  it('writes the data of the directory, which the admission policies deny to others', async () => {
    const run = await jobs.run('berth-ldap-sync');

    expect([run.exitCode, run.log]).toEqual([0, expect.stringContaining('1 namespace changed')]);
    expectNobody(run, 'berth-ldap-sync');
    expect(await identity()).toMatchObject({
      'openondemand.org/uid': '20001',
      'openondemand.org/gid': '100',
      'openondemand.org/groups': '100,30000',
    });
  });
});
