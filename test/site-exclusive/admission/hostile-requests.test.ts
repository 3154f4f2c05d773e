import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import type { AdmissionResponse } from '../../rig/admission/admission-response.ts';
import { AdmissionSite } from '../../rig/admission/admission-site.ts';
import { bystanders } from './hostile-beside.ts';
import { type HostileRequest, isUnknown, podWith } from './hostile.ts';
import {
  claimOf,
  friendlyDevices,
  hostileByControllers,
  hostileClaims,
  hostileDevices,
} from './hostile-claims.ts';
import { bind, hostileDeletions, scheduledPod } from './hostile-endings.ts';
import { expectRefusal } from './expect-refusal.ts';
import { hostileChanges, victim } from './hostile-requests.ts';
import { hostileServices } from './hostile-services.ts';
import { hostileTemplates } from './hostile-templates.ts';
import { withDefaultsFilledIn } from '../../rig/admission/explicit-defaults.ts';
import { testUser } from '../../rig/admission/test-user.ts';

let site: Site;
let admission: AdmissionSite;
let minor: string;

beforeAll(async () => {
  site = await openSite();
  minor = site.record.kubernetesMinor;
  admission = await AdmissionSite.install(site);
  for (const object of [victim, ...bystanders]) {
    const { status, message } = await admission.create(object, { keep: true });
    expect([status, message]).toEqual([201, '']);
  }
});
afterAll(() => admission.remove());

describe('a user with every right in the namespace cannot have', () => {
  const isRefused = async (hostile: HostileRequest): Promise<void> => {
    const { method, path, body, contentType } = hostile;
    const all = path.includes('?') ? '&' : '?';
    const absolute = path.startsWith('/')
      ? path.replace('{namespace}', admission.namespace)
      : `${home()}/${path}`;

    const answer = await admission.request(
      ...([method, `${absolute}${all}dryRun=All`, body, contentType] as const),
    );
    if (isUnknown(hostile, minor)) expect(answer.status).not.toBe(403);
    else expectRefusal(admission, answer, hostile);
  };
  it.each(hostileChanges.map((one) => [one.way, one] as const))('%s', (_, hostile) =>
    isRefused(hostile),
  );
  it.each(hostileDeletions.map((one) => [one.way, one] as const))('%s', async (_, hostile) => {
    // Now, because a pod on a node that does not exist is collected soon.
    const { status } = await admission.create(scheduledPod, { keep: true });
    if (status === 201) await bind(admission, 'placed');
    await isRefused(hostile);
  });

  it.each(
    [...hostileTemplates, ...hostileServices, ...hostileClaims, ...hostileDevices].map(
      (one) => [one.way, one] as const,
    ),
  )('%s', async (_, hostile) => {
    const answer = await admission.create(hostile.object);
    if (isUnknown(hostile, minor)) expect(answer.status).not.toBe(403);
    else expectRefusal(admission, answer, hostile);
  });
});

describe('a controller, with rights of its own, makes for a user', () => {
  const create = async (by: string, object: Manifest): Promise<string> => {
    const { stdout, stderr } = await site.kubectl(
      [
        'create',
        '--dry-run=server',
        '-o',
        'name',
        '-n',
        admission.namespace,
        `--as=${by}`,
        '-f',
        '-',
      ],
      { input: JSON.stringify(object) },
    );
    return stdout + stderr;
  };

  it.each(hostileByControllers.map(([by, one]) => [by, one.way, one] as const))(
    '%s: not %s',
    async (by, _, hostile) => {
      if (isUnknown(hostile, minor)) return;
      const said = await create(by, hostile.object);
      expect(said).toContain(`'${admission.settings.prefix}${hostile.policy}'`);
      expect(said).toContain(hostile.field);
      expect(said).toContain(hostile.wanted);
    },
  );

  it('what the user may have', async () => {
    const [statefulSets = '', , devices = ''] = [
      ...new Set(hostileByControllers.map(([by]) => by)),
    ];
    const notes = { annotations: { 'hub.jupyter.org/username': 'ada' } };
    expect(await create(statefulSets, claimOf({}, notes))).toMatch(/^persistentvolumeclaim/);
    if (isUnknown({ since: '1.34' }, minor)) return;
    for (const claim of friendlyDevices.slice(0, 1))
      expect(await create(devices, claim)).toMatch(/^resourceclaim/);
  });
});

describe('the account of sessions', () => {
  it('creates pods, but none that has its token', async () => {
    const { cluster, namespace, settings } = admission;
    const name = 'berth-session';
    const role = ['--role=everything', `--serviceaccount=${namespace}:${name}`];
    await cluster.kubectl(['create', 'rolebinding', name, '-n', namespace, ...role]);
    const token = await cluster.kubectl(['create', 'token', name, '-n', namespace]);
    const create = async (object: Manifest): Promise<string> => {
      const pod = settings.nothingFilledIn === true ? withDefaultsFilledIn(object) : object;
      const { stdout, stderr } = await admission.kubectl(
        ['create', '--dry-run=server', '-o', 'name', '-f', '-'],
        { token: token.trim(), input: JSON.stringify(pod) },
      );
      return stdout + stderr;
    };

    expect(await create(testUser.pod('first'))).toBe('pod/first');
    expect(await create(podWith({ serviceAccountName: name }))).toContain(
      'spec.serviceAccountName must be one of the values that this site allows: default',
    );
  });
});

describe('a user with every right on their namespace cannot change', () => {
  const stamped = (key: string, value: string | null): object => ({
    metadata: { annotations: { [`openondemand.org/${key}`]: value } },
  });
  const uid = 'metadata.annotations openondemand.org/uid may only be changed';

  it.each<[string, string, object]>([
    ['the UID', uid, stamped('uid', '1')],
    [
      'the GID',
      'metadata.annotations openondemand.org/gid may only be changed',
      stamped('gid', '1'),
    ],
    ['the groups', 'openondemand.org/groups may only be changed', stamped('groups', '5002,6500')],
    ['the owner', 'openondemand.org/owner may only be changed', stamped('owner', 'bob')],
    [
      'when the hook was here',
      'last-hook-execution may only be changed',
      stamped('last-hook-execution', '9'),
    ],
    ['anything of that name', 'openondemand.org/new may only be changed', stamped('new', 'x')],
    ['that there is a UID', uid, stamped('uid', null)],
  ])('%s', async (_, says, body) => {
    const { status, message } = await patchNamespace('', body);

    expect([status, message]).toEqual([403, expect.stringContaining(says)]);
  });

  it.each(['/status', '/finalize'])('the UID by namespaces%s', async (subresource) => {
    const { status, message } =
      subresource === '/status'
        ? await patchNamespace(subresource, stamped('uid', '1'))
        : await admission.request('PUT', `${home()}${subresource}?dryRun=All`, {
            apiVersion: 'v1',
            kind: 'Namespace',
            metadata: { name: admission.namespace, annotations: { 'openondemand.org/uid': '1' } },
          });

    expect([status, message]).toEqual([403, expect.stringContaining('openondemand.org/uid')]);
  });

  it('the label that the policies select', async () => {
    const { status, message } = await patchNamespace('', {
      metadata: { labels: { [admission.settings.label.key]: null } },
    });

    expect([status, message]).toEqual([
      403,
      expect.stringContaining(`label ${admission.settings.label.key} may only be changed`),
    ]);
  });

  it('but can change its description', async () => {
    const { status } = await patchNamespace('', { metadata: { annotations: { note: 'mine' } } });

    expect(status).toBe(200);
  });

  it('nor create another user’s namespace with the right to create namespaces', async () => {
    await admission.allowNamespaceCreation();
    const { label, within = '' } = admission.settings;
    const make = (metadata: object): Promise<AdmissionResponse> =>
      admission.request('POST', '/api/v1/namespaces?dryRun=All', {
        metadata: { name: `${within}-new`, ...metadata },
      });

    expect(await make({ annotations: testUser.annotations })).toMatchObject({ status: 403 });
    expect(await make({ labels: { [label.key]: label.value } })).toMatchObject({ status: 403 });
    expect(await make({ annotations: { note: 'mine' } })).toMatchObject({ status: 201 });
  });
});

const home = (): string => `/api/v1/namespaces/${admission.namespace}`;

function patchNamespace(subresource: string, body: object): Promise<AdmissionResponse> {
  return admission.request('PATCH', `${home()}${subresource}?dryRun=All`, body);
}
