import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseProfile } from '../../../src/config/schema/profile/profile-parse.ts';
import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { podObject } from '../../../src/sessions/backends/pod/objects/pod-object.ts';
import { openSite } from '../../rig/site/site.ts';
import { AdmissionSite } from '../../rig/admission/admission-site.ts';
import { isUnknown, podWith } from './hostile.ts';
import { victim } from './hostile-requests.ts';
import { testUser, siteParameters } from '../../rig/admission/test-user.ts';
import { withDefaultsFilledIn } from '../../rig/admission/explicit-defaults.ts';

/** As `berth render policies --kubernetes 1.34` has them, on whatever version the site is. */
let strict: AdmissionSite;
/** The same with `supplemental_groups_policy: Merge`. */
let merge: AdmissionSite;

let minor: string;

beforeAll(async () => {
  const site = await openSite();
  minor = site.record.kubernetesMinor;
  strict = await AdmissionSite.install(site, siteParameters, true);
  const parameters = {
    ...siteParameters,
    supplementalGroupsPolicy: 'Merge',
    deviceClasses: [],
  } as const;
  merge = await AdmissionSite.install(site, parameters, true);
});
afterAll(async () => {
  await strict.remove();
  await merge.remove();
});

async function ondemand(file: string, place: AdmissionSite): Promise<Manifest> {
  const text = await readFile(new URL(`ondemand/${file}`, import.meta.url), 'utf8');
  const pod = parse(text) as Manifest;
  return { ...pod, metadata: { ...pod.metadata, namespace: place.namespace } };
}

const taken = [201, ''];
const whole =
  'This cluster sets no defaults. Set securityContext {runAsUser: 5001, runAsGroup: 5002, runAsNonRoot: true, supplementalGroups: [5002, 6000, 6001], supplementalGroupsPolicy: Strict, seccompProfile: {type: RuntimeDefault}} for the pod, securityContext {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}} and resources (requests and limits of cpu and memory) for each container, and the annotation pod.kubernetes.io/lifetime. Ask hpc-help@example.org.';

describe('without defaults, pods of OnDemand’s adapter', () => {
  it.each(['batch.yml', 'host-type.yml'])('%s: passes as it is', async (file) => {
    const { status, message } = await merge.createVerbatim(await ondemand(file, merge));
    expect([status, message]).toEqual(taken);
  });

  it('with init containers are accepted if a LimitRange sets their resources', async () => {
    const pod = await ondemand('jupyter.yml', merge);
    expect((await merge.createVerbatim(pod)).message).toContain(
      'resources.requests.cpu of container init-1 must be present',
    );

    const size = { cpu: '1', memory: '1Gi' };
    await merge.cluster.create({
      apiVersion: 'v1',
      kind: 'LimitRange',
      metadata: { name: 'defaults', namespace: merge.namespace },
      spec: { limits: [{ type: 'Container', default: size, defaultRequest: size }] },
    });
    const { status, message } = await merge.createVerbatim(pod);
    expect([status, message]).toEqual(taken);
  });

  it('of an app without a wall time are refused for that', async () => {
    const pod = await ondemand('gpu.yml', merge);
    expect((await merge.createVerbatim(pod)).message).toContain(
      'metadata.annotations[pod.kubernetes.io/lifetime] must be set to the lifetime of the pod',
    );

    const annotations = { 'pod.kubernetes.io/lifetime': '08h00m00s' };
    const { status, message } = await merge.createVerbatim({
      ...pod,
      metadata: { ...pod.metadata, annotations },
    });
    expect([status, message]).toEqual(taken);
  });

  it('are refused for the groups of their images, unless the site allows them', async () => {
    const { status, message } = await strict.createVerbatim(await ondemand('batch.yml', strict));
    expect(status).toBe(403);
    expect(message).toMatch(
      /denied request: spec\.securityContext\.supplementalGroupsPolicy must be Strict: [^.]+\. Ask/,
    );
  });
});

it('a pod has no claims of devices if the site lists no class', async () => {
  if (isUnknown({ since: '1.34' }, minor)) return;
  const resourceClaims = [{ name: 'gpu', resourceClaimName: 'made-before' }];
  const { status, message } = await merge.create(podWith({ resourceClaims }));
  expect([status, message]).toEqual([
    403,
    expect.stringContaining('spec.resourceClaims is not allowed: this site allows no value'),
  ]);
});

describe('without defaults', () => {
  it('the pod of an SSH session is accepted', async () => {
    const { name, uid, gid, groups } = testUser;
    const pod = podObject({
      user: { name, uid, gid, groups, home: '/home/ada', shell: '/bin/bash' },
      profile: parseProfile({ image: testUser.image, mounts: [], lifetime: '8h' }, 'p', 'p.yml'),
      ...{ namespace: strict.namespace, loginHost: 'login1', groupNames: new Map() },
    });
    const { status, message } = await strict.createVerbatim(pod as unknown as Manifest);
    expect([status, message]).toEqual(taken);
  });

  it('a pod without settings is refused with all missing fields, and accepted with them', async () => {
    const plain = testUser.pod('plain');
    const { status, message } = await strict.createVerbatim(plain);
    expect(status).toBe(403);
    // Which of the two policies is the first is the API server's matter.
    expect(message).toMatch(
      /denied request: (spec\.securityContext\.runAsUser must be 5001|metadata\.annotations\[pod\.kubernetes\.io\/lifetime\] must be set)/,
    );
    expect(message).toContain(whole);

    const full = await strict.createVerbatim(withDefaultsFilledIn(plain) as Manifest);
    expect([full.status, full.message]).toEqual(taken);
  });

  it('a pod without one field is refused with that field', async () => {
    const pod = withDefaultsFilledIn(testUser.pod('plain')) as Manifest & {
      spec: { securityContext: object };
    };
    const securityContext = { ...pod.spec.securityContext, runAsNonRoot: false };
    const { message } = await strict.createVerbatim({
      ...pod,
      spec: { ...pod.spec, securityContext },
    });
    expect(message).toMatch(
      /denied request: spec\.securityContext\.runAsNonRoot must be true\. Ask/,
    );
  });

  it('each container may have its own seccomp profile, if all of them do', async () => {
    const pod = withDefaultsFilledIn(testUser.pod('plain')) as Manifest & {
      spec: { securityContext: object; containers: { securityContext: object }[] };
    };
    const seccompProfile = { type: 'RuntimeDefault' };
    const [main] = pod.spec.containers;
    const own = {
      ...main,
      securityContext: { ...main?.securityContext, seccompProfile },
    };
    const attempt = (containers: object[]): ReturnType<AdmissionSite['createVerbatim']> =>
      strict.createVerbatim({
        ...pod,
        spec: {
          ...pod.spec,
          securityContext: { ...pod.spec.securityContext, seccompProfile: undefined },
          containers,
        },
      });

    expect(await attempt([own])).toMatchObject({ status: 201 });
    expect(await attempt([own, { ...main, name: 'second' }])).toMatchObject({
      status: 403,
      message: expect.stringContaining('spec.securityContext.seccompProfile.type') as string,
    });
  });

  it('a Deployment without the fields is refused', async () => {
    const made = await strict.kubectl(['create', 'deployment', 'web', `--image=${testUser.image}`]);
    expect(made.exitCode).toBe(1);
    expect(made.stderr).toContain(whole);
  });

  it('kubectl debug is accepted with --profile=restricted', async () => {
    await strict.create(victim, { keep: true });
    const debug = ['debug', 'pod/victim', `--image=${testUser.image}`, '--profile=restricted'];
    expect(await strict.kubectl([...debug, '--', 'sh'])).toMatchObject({ exitCode: 0 });
  });
});
