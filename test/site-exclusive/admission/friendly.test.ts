import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { openSite } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { AdmissionSite } from '../../rig/admission/admission-site.ts';
import { annotated, podWith } from './hostile.ts';
import { bind, scheduledPod } from './hostile-endings.ts';
import { keepingOff } from './hostile-placement.ts';
import { victim } from './hostile-requests.ts';
import { service } from './hostile-services.ts';
import { testUser } from '../../rig/admission/test-user.ts';

const ondemand = new URL('ondemand/', import.meta.url).pathname;
let admission: AdmissionSite;
let component: string;

beforeAll(async () => {
  admission = await AdmissionSite.install(await openSite());
  component = await admission.createClusterComponent();
});
afterAll(() => admission.remove());

const identity = {
  runAsUser: testUser.uid,
  runAsGroup: testUser.gid,
  runAsNonRoot: true,
  supplementalGroupsPolicy: 'Strict',
};

describe("pods of OnDemand's Kubernetes adapter", () => {
  it.each(readdirSync(ondemand))('%s', async (file) => {
    const pod = parse(await readFile(ondemand + file, 'utf8')) as Manifest;
    const given = pod.spec as { securityContext: { supplementalGroups: number[] } };
    const { supplementalGroups: groups } = given.securityContext;
    const own = { ...pod, metadata: { ...pod.metadata, namespace: admission.namespace } };

    const { status, message, body } = await admission.create(own);

    expect([status, message]).toEqual([201, '']);
    // What it says stays as it is. No groups at all is nothing said, to the API.
    expect(body.spec).toMatchObject({
      securityContext: {
        ...given.securityContext,
        ...identity,
        supplementalGroups: groups.length === 0 ? testUser.groups : groups,
      },
    });
  });
});

describe('commands of a user', () => {
  const kubectl = (...args: string[]): ReturnType<AdmissionSite['kubectl']> =>
    admission.kubectl(args);

  it('kubectl run creates a pod with the user’s identity', async () => {
    const ran = await kubectl(
      'run',
      'plain',
      `--image=${testUser.image}`,
      '-o',
      'json',
      '--dry-run=server',
    );

    expect(ran).toMatchObject({ exitCode: 0, stderr: '' });
    const pod = JSON.parse(ran.stdout) as Manifest;
    expect(pod.metadata.annotations).toMatchObject({ 'pod.kubernetes.io/lifetime': '1h' });
    expect(pod.spec).toMatchObject({
      securityContext: {
        ...identity,
        supplementalGroups: testUser.groups,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          resources: {
            limits: { cpu: '500m', memory: '256Mi' },
            requests: { cpu: '500m', memory: '256Mi' },
          },
        },
      ],
    });
  });

  it('kubectl create deployment: the controller’s pods have the user’s identity', async () => {
    const made = await kubectl('create', 'deployment', 'web', `--image=${testUser.image}`);
    expect(made).toMatchObject({ exitCode: 0, stderr: '' });

    const pod = await waitFor({ what: 'a pod of the deployment', timeoutMs: 60_000 }, async () => {
      const { stdout } = await kubectl('get', 'pods', '-l', 'app=web', '-o', 'json');
      return (JSON.parse(stdout) as { items: Manifest[] }).items[0];
    });
    expect(pod.spec).toMatchObject({ securityContext: identity });
  });

  it('kubectl debug is refused by default and accepted with --profile=restricted', async () => {
    await admission.create(victim, { keep: true });
    const debug = (profile: string): ReturnType<typeof kubectl> =>
      kubectl(
        'debug',
        'pod/victim',
        `--image=${testUser.image}`,
        `--profile=${profile}`,
        '--',
        'sh',
      );

    const general = await debug('general');
    expect(general.exitCode).toBe(1);
    expect(general.stderr).toContain('securityContext.capabilities.add of container debugger-');
    expect(await debug('sysadmin')).toMatchObject({ exitCode: 1 });
    expect(await debug('restricted')).toMatchObject({ exitCode: 0 });
  });

  it('an ephemeral container without settings gets minimal rights', async () => {
    await admission.create(victim, { keep: true });
    const { status, body } = await admission.request(
      'PATCH',
      `/api/v1/namespaces/${admission.namespace}/pods/victim/ephemeralcontainers?dryRun=All`,
      { spec: { ephemeralContainers: [{ name: 'plain', image: testUser.image }] } },
      'application/strategic-merge-patch+json',
    );

    expect(status).toBe(200);
    expect(JSON.stringify(body.spec)).toMatch(
      /"name":"plain".*"securityContext":\{"capabilities":\{"drop":\["ALL"\]\},"allowPrivilegeEscalation":false/,
    );
  });

  it('a request without a limit gets a matching limit', async () => {
    const resources = { requests: { cpu: '4', memory: '8Gi' } };

    const { status, body } = await admission.create(podWith({}, { resources }));

    expect(status).toBe(201);
    expect(body.spec).toMatchObject({
      containers: [{ resources: { limits: { cpu: '4', memory: '8Gi' } } }],
    });
  });

  it('a deadline becomes a lifetime, which the reaper uses', async () => {
    const { status, body } = await admission.create(podWith({ activeDeadlineSeconds: 60 }));

    expect(status).toBe(201);
    expect(body.metadata).toMatchObject({ annotations: { 'pod.kubernetes.io/lifetime': '60s' } });
  });

  it('everything that the site allows, in one pod', async () => {
    const [container] = testUser.pod().spec.containers;
    const mounts = ['own', 'apps', 'certificates', 'export', 'token', 'vault', 'scratch', 'image'];
    const { status, message } = await admission.create({
      ...testUser.pod(),
      metadata: { name: 'all', annotations: { 'pod.kubernetes.io/lifetime': '24h' } },
      spec: {
        ...(keepingOff({}).spec as object),
        tolerations: [
          { key: 'gpu', operator: 'Exists' },
          {
            key: 'node.kubernetes.io/unreachable',
            operator: 'Exists',
            effect: 'NoExecute',
            tolerationSeconds: 30,
          },
        ],
        securityContext: {
          seccompProfile: { type: 'Localhost', localhostProfile: 'profiles/audit.json' },
          appArmorProfile: { type: 'Localhost', localhostProfile: 'berth-tools' },
        },
        containers: [
          {
            ...container,
            volumeMounts: mounts.map((name) => ({
              name,
              mountPath: `/${name}`,
              readOnly: name === 'apps' || name === 'certificates',
              ...(name === 'scratch' ? { subPath: 'below' } : {}),
            })),
          },
        ],
        volumes: [
          { name: 'own', hostPath: { path: '/home/ada/', type: 'Directory' } },
          { name: 'apps', hostPath: { path: '/apps' } },
          { name: 'certificates', hostPath: { path: '/etc/pki/tls' } },
          { name: 'export', nfs: { server: 'nfs.example.org', path: '/export/ada' } },
          {
            name: 'token',
            projected: { sources: [{ serviceAccountToken: { path: 't', audience: 'vault' } }] },
          },
          { name: 'vault', csi: { driver: 'secrets-store.csi.k8s.io', readOnly: true } },
          { name: 'scratch', emptyDir: {} },
          { name: 'image', image: { reference: 'quay.io/jupyter/base@sha256:' + 'a'.repeat(64) } },
        ],
      },
    });

    expect([status, message]).toEqual([201, '']);
  });
});

describe('a grace period within the site’s limit', () => {
  const remove = (name: string, gracePeriodSeconds?: number): Promise<{ status: number }> =>
    admission.request('DELETE', `/api/v1/namespaces/${admission.namespace}/pods/${name}`, {
      dryRun: ['All'],
      ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    });

  it('is set by the pod or by the deletion', async () => {
    const terminationGracePeriodSeconds = 120;
    const spec = { ...scheduledPod.spec, terminationGracePeriodSeconds };
    const { status, message } = await admission.create({ ...scheduledPod, spec }, { keep: true });
    expect([status, message]).toEqual([201, '']);
    await bind(admission, 'placed');

    for (const seconds of [undefined, 0, 1, 120])
      expect([seconds, await remove('placed', seconds)]).toMatchObject([seconds, { status: 200 }]);
    expect(await remove('placed', 121)).toMatchObject({ status: 403 });
  });

  it('may be exceeded by an existing pod, which can be deleted', async () => {
    await admission.createPreexistingPod('slow', {}, { terminationGracePeriodSeconds: 86_400 });
    await bind(admission, 'slow');

    expect(await remove('slow')).toMatchObject({ status: 200 });
    expect(await remove('slow', 86_401)).toMatchObject({ status: 403 });
  });
});

describe('harmless annotations', () => {
  it.each([
    ...['note', 'checksum/config', 'kubernetes.io/description', 'app.kubernetes.io/version'],
    ...['kubectl.kubernetes.io/restartedAt', 'kubectl.kubernetes.io/default-container'],
    ...['helm.sh/hook', 'meta.helm.sh/release-name', 'argocd.argoproj.io/tracking-id'],
    ...['prometheus.io/scrape', 'hub.jupyter.org/username', 'openondemand.org/app'],
    'cluster-autoscaler.kubernetes.io/safe-to-evict',
    ...['vault.hashicorp.com/agent-inject', 'sidecar.istio.io/inject'],
  ])('%s', async (key) => {
    const annotations = { [key]: 'true' };
    const made = [annotated(annotations), service({}, { annotations })];

    for (const object of made) {
      const { status, message } = await admission.create(object);
      expect([status, message]).toEqual([201, '']);
    }
  });

  it('include a loaded AppArmor profile in the deprecated form', async () => {
    const key = 'container.apparmor.security.beta.kubernetes.io/main';
    const { status, message } = await admission.create(annotated({ [key]: 'runtime/default' }));

    expect([status, message]).toEqual([201, '']);
  });

  it('a network plugin may write others into a running pod', async () => {
    await admission.create(victim, { keep: true });
    const metadata = { annotations: { 'cni.projectcalico.org/podIP': '10.0.0.9/32' } };
    const patch = ['patch', 'pod', 'victim', '--subresource=status', '--dry-run=server'];
    const written = ['-p', JSON.stringify({ metadata }), '-o', 'jsonpath={.metadata.annotations}'];

    const byUser = await admission.kubectl([...patch, ...written]);
    expect(byUser.stderr).toContain('cni.projectcalico.org/podIP must be absent');
    const byPlugin = await admission.cluster.kubectl([
      ...[...patch, ...written, '-n', admission.namespace, `--as=${component}`],
    ]);
    expect(byPlugin).toContain('10.0.0.9/32');
  });
});

describe('device variables that request no device', () => {
  it.each([
    ['NVIDIA_VISIBLE_DEVICES', 'void'],
    ['NVIDIA_VISIBLE_DEVICES', 'none'],
    ['NVIDIA_DRIVER_CAPABILITIES', 'compute,utility'],
    ['CUDA_VISIBLE_DEVICES', '0'],
  ])('%s=%s', async (name, value) => {
    const { status, message } = await admission.create(podWith({}, { env: [{ name, value }] }));

    expect([status, message]).toEqual([201, '']);
  });
});

describe('an existing pod', () => {
  it('stays: its labels and status can change, its spec cannot', async () => {
    const old = await admission.createPreexistingPod('old', { runAsUser: 0 });
    const patch = (path: string, body: object): Promise<{ status: number }> =>
      admission.request(
        'PATCH',
        `${old}${path}?dryRun=All`,
        body,
        'application/strategic-merge-patch+json',
      );

    expect(await patch('', { metadata: { labels: { seen: 'yes' } } })).toMatchObject({
      status: 200,
    });
    expect(await patch('/status', { status: { message: 'well' } })).toMatchObject({ status: 200 });
    expect(
      await patch('', { spec: { containers: [{ name: 'main', image: `${testUser.image}2` }] } }),
    ).toMatchObject({ status: 403 });
  });
});

describe('a namespace without a login', () => {
  it('accepts no pod, and the message says why', async () => {
    await admission.withoutIdentity(async () => {
      const { status, message } = await admission.create(testUser.pod());

      expect(status).toBe(403);
      expect(message).toContain(
        'your namespace does not have your UID and GID yet (annotations openondemand.org/uid',
      );
    });
  });
});
