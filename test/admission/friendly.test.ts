import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Manifest } from '../../src/desired/admission/manifest.ts';
import { openSite } from '../site/site.ts';
import { waitFor } from '../site/wait.ts';
import { AdmissionSite } from './admission-site.ts';
import { victim } from './hostile-requests.ts';
import { person } from './person.ts';

const ondemand = new URL('ondemand/', import.meta.url).pathname;
let admission: AdmissionSite;

beforeAll(async () => {
  admission = await AdmissionSite.install(await openSite());
});
afterAll(() => admission.remove());

const identity = {
  runAsUser: person.uid,
  runAsGroup: person.gid,
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
        supplementalGroups: groups.length === 0 ? person.groups : groups,
      },
    });
  });
});

describe('what a user types', () => {
  const kubectl = (...args: string[]): ReturnType<AdmissionSite['kubectl']> =>
    admission.kubectl(args);

  it('kubectl run: the pod is theirs', async () => {
    const ran = await kubectl(
      'run',
      'plain',
      `--image=${person.image}`,
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
        supplementalGroups: person.groups,
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

  it('kubectl create deployment: the controller’s pods are theirs', async () => {
    const made = await kubectl('create', 'deployment', 'web', `--image=${person.image}`);
    expect(made).toMatchObject({ exitCode: 0, stderr: '' });

    const pod = await waitFor({ what: 'a pod of the deployment', timeoutMs: 20_000 }, async () => {
      const { stdout } = await kubectl('get', 'pods', '-l', 'app=web', '-o', 'json');
      return (JSON.parse(stdout) as { items: Manifest[] }).items[0];
    });
    expect(pod.spec).toMatchObject({ securityContext: identity });
  });

  it('kubectl debug: refused as it comes, taken with --profile=restricted', async () => {
    await admission.create(victim, { keep: true });
    const debug = (profile: string): ReturnType<typeof kubectl> =>
      kubectl('debug', 'pod/victim', `--image=${person.image}`, `--profile=${profile}`, '--', 'sh');

    const general = await debug('general');
    expect(general.exitCode).toBe(1);
    expect(general.stderr).toContain('securityContext.capabilities.add of container debugger-');
    expect(await debug('sysadmin')).toMatchObject({ exitCode: 1 });
    expect(await debug('restricted')).toMatchObject({ exitCode: 0 });
  });

  it('an ephemeral container that says nothing has the least of rights', async () => {
    await admission.create(victim, { keep: true });
    const { status, body } = await admission.request(
      'PATCH',
      `/api/v1/namespaces/${admission.namespace}/pods/victim/ephemeralcontainers?dryRun=All`,
      { spec: { ephemeralContainers: [{ name: 'plain', image: person.image }] } },
      'application/strategic-merge-patch+json',
    );

    expect(status).toBe(200);
    expect(JSON.stringify(body.spec)).toMatch(
      /"name":"plain".*"securityContext":\{"capabilities":\{"drop":\["ALL"\]\},"allowPrivilegeEscalation":false/,
    );
  });

  it('a request without a limit gets one that fits', async () => {
    const { containers } = person.pod().spec;
    const resources = { requests: { cpu: '4', memory: '8Gi' } };

    const { status, body } = await admission.create({
      ...person.pod(),
      spec: { containers: [{ ...containers[0], resources }] },
    });

    expect(status).toBe(201);
    expect(body.spec).toMatchObject({
      containers: [{ resources: { limits: { cpu: '4', memory: '8Gi' } } }],
    });
  });

  it('what the site allows, all of it at once', async () => {
    const [container] = person.pod().spec.containers;
    const mounts = ['own', 'apps', 'certificates', 'export', 'token', 'vault', 'scratch', 'image'];
    const { status, message } = await admission.create({
      ...person.pod(),
      metadata: { name: 'all', annotations: { 'pod.kubernetes.io/lifetime': '24h' } },
      spec: {
        tolerations: [{ key: 'gpu', operator: 'Exists' }],
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

describe('a pod from before the policies', () => {
  it('goes on: labels and status change, what it runs does not', async () => {
    const old = await admission.podFromBefore('old', { runAsUser: 0 });
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
      await patch('', { spec: { containers: [{ name: 'main', image: `${person.image}2` }] } }),
    ).toMatchObject({ status: 403 });
  });
});

describe('a namespace that nobody has logged in to', () => {
  it('takes no pod, and says why', async () => {
    await admission.withoutIdentity(async () => {
      const { status, message } = await admission.create(person.pod());

      expect(status).toBe(403);
      expect(message).toContain('the namespace has no user yet: openondemand.org/uid');
    });
  });
});
