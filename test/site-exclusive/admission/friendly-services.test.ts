import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { openSite } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { AdmissionSite } from '../../rig/admission/admission-site.ts';
import { claim, claimOf, friendlyDevices } from './hostile-claims.ts';
import { service } from './hostile-services.ts';
import { isUnknown, mounting, podWith } from './hostile.ts';
import { noSuchNode } from '../../rig/admission/test-user.ts';

let admission: AdmissionSite;
let component: string;
let minor: string;

beforeAll(async () => {
  const site = await openSite();
  minor = site.record.kubernetesMinor;
  admission = await AdmissionSite.install(site);
  component = await admission.createClusterComponent();
});
afterAll(() => admission.remove());

describe('Services', () => {
  const labels = { job: 'jupyter-1a2b3c', 'app.kubernetes.io/managed-by': 'open-ondemand' };

  it.each<[string, Manifest]>([
    [
      "of OnDemand's Kubernetes adapter",
      service({ type: 'NodePort', ports: [{ port: 80, targetPort: 8080 }] }, { labels }),
    ],
    ['of the cluster alone', service({})],
    ['without an address', service({ clusterIP: 'None' })],
    [
      'with a load balancer of a class on the list',
      service({ type: 'LoadBalancer', loadBalancerClass: 'example.org/campus' }),
    ],
  ])('%s', async (_, object) => {
    const { status, message } = await admission.create(object);

    expect([status, message]).toEqual([201, '']);
  });

  it('get their endpoints and address from the cluster', async () => {
    const { namespace, cluster } = admission;
    const fields = { type: 'LoadBalancer', loadBalancerClass: 'example.org/campus' };
    const made = await admission.create(service(fields, { name: 'campus' }), { keep: true });
    expect(made.status).toBe(201);

    await waitFor({ what: 'the EndpointSlice', timeoutMs: 60_000 }, async () => {
      const selector = 'kubernetes.io/service-name=campus';
      const { stdout } = await admission.kubectl([
        ...['get', 'endpointslices', '-l', selector, '-o', 'name'],
      ]);
      return stdout === '' ? undefined : true;
    });
    const ingress = [{ ip: '10.0.0.1' }];
    await cluster.kubectl([
      ...['patch', 'service', 'campus', '-n', namespace, '--subresource=status'],
      ...['-p', JSON.stringify({ status: { loadBalancer: { ingress } } })],
      `--as=${component}`,
    ]);
    expect((await cluster.get('service', 'campus', namespace))?.status).toMatchObject({
      loadBalancer: { ingress },
    });
  });
});

describe('devices', () => {
  it('of a class on the list can be claimed', async () => {
    if (isUnknown({ since: '1.34' }, minor)) return;
    for (const object of friendlyDevices) {
      const { status, message } = await admission.create(object);
      expect([status, message]).toEqual([201, '']);
    }
    const resourceClaims = [{ name: 'gpu', resourceClaimTemplateName: 'hostile' }];
    const { status, message } = await admission.create(podWith({ resourceClaims }));
    expect([status, message]).toEqual([201, '']);
  });
});

describe('new volumes', () => {
  it('can be ephemeral volumes of an allowed class', async () => {
    const template = { spec: claim({}) };
    const pod = mounting({ ephemeral: { volumeClaimTemplate: template } });
    const { spec } = pod as { spec?: object };
    const { status, message } = await admission.create(
      { ...pod, metadata: { name: 'scratch' }, spec: { ...spec, nodeSelector: noSuchNode } },
      { keep: true },
    );
    expect([status, message]).toEqual([201, '']);

    const made = await waitFor({ what: 'the claim of the pod', timeoutMs: 60_000 }, () =>
      admission.cluster.get('persistentvolumeclaim', 'scratch-v', admission.namespace),
    );
    expect(made.spec).toMatchObject({ storageClassName: 'scratch' });
  });

  it('keep their namespace only if the login hook made them', async () => {
    const { cluster, namespace, settings } = admission;
    const key = 'berth.dev/user-volume';
    const made = claimOf({}, { name: 'home', labels: { [key]: 'true' } });
    const [account = ''] = settings.parameters.stampers;
    const hook = `system:serviceaccount:${account}`;
    await admission.grantClusterWide('hook', hook, {
      apiGroups: ['openondemand.org', ''],
      resources: ['identities', 'persistentvolumeclaims'],
      verbs: ['stamp', 'create'],
    });
    const asHook = ['create', `--as=${hook}`, '-n', namespace, '-f', '-'];
    await cluster.kubectl(asHook, JSON.stringify(made));
    await admission.create(claimOf({}, { name: 'own' }), { keep: true });

    const label = (name: string, labels: object): ReturnType<AdmissionSite['request']> => {
      const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`;
      return admission.request('PATCH', path, { metadata: { labels } });
    };
    const says = expect.stringContaining(`metadata.labels ${key} may only be changed`) as unknown;
    const refused = { status: 403, message: says };
    expect(await label('own', { [key]: 'true' })).toMatchObject(refused);
    expect(await label('own', { [key]: '' })).toMatchObject(refused);
    expect(await label('home', { [key]: null })).toMatchObject(refused);
    expect(await label('home', { note: 'mine' })).toMatchObject({ status: 200 });
  });

  it('can be claimed, and accounts that may create volumes may bind one', async () => {
    const { status, message } = await admission.create(claimOf({}));
    expect([status, message]).toEqual([201, '']);

    const bound = claimOf({ volumeName: 'of-the-project' });
    await admission.cluster.create({
      ...bound,
      metadata: { name: 'project', namespace: admission.namespace },
    });
  });
});
