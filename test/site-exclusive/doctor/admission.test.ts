import { afterAll, assert, beforeAll, describe, expect, it } from 'vitest';
import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { kubernetesPolicies } from '../../../src/kube/admission/kubernetes-policies.ts';
import { probeManifests, probeNamespace } from '../../../src/kube/admission/probe-namespace.ts';
import { stampRights } from '../../../src/kube/admission/render-admission.ts';
import { admissionFinding } from '../../../src/diagnose/doctor/admission-check.ts';
import { parseProfile } from '../../../src/config/schema/profile/profile-parse.ts';
import { podAdmissionFinding } from '../../../src/diagnose/doctor/pod-checks.ts';
import { mountsFinding } from '../../../src/diagnose/doctor/ondemand-on-cluster.ts';
import type { Finding } from '../../../src/system/errors/check-result.ts';
import { type ApiClient, apiClient } from '../../../src/kube/api-client.ts';
import { send } from '../../rig/site/https.ts';
import { hasMutatingPolicies } from '../../rig/site/kubernetes/versions.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { AdmissionSite } from '../../rig/admission/admission-site.ts';
import { service } from '../admission/hostile-services.ts';
import { testUser } from '../../rig/admission/test-user.ts';
import { withDefaultsFilledIn } from '../../rig/admission/explicit-defaults.ts';

let site: Site;
let admission: AdmissionSite;
let token: string;

beforeAll(async () => {
  site = await openSite();
  admission = await AdmissionSite.install(site);
  const { namespace, name } = hook();
  await admission.cluster.create(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    ...hookRights(),
  );
  token = (await admission.cluster.kubectl(['create', 'token', name, '-n', namespace])).trim();
});
afterAll(async () => {
  const made = [...stampRights(admission.settings), ...hookRights()];
  const names = made.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`);
  await admission.cluster.kubectl(['delete', '--ignore-not-found', ...names]);
  await admission.cluster.deleteNamespaces([hook().namespace, probeNamespace(admission.settings)]);
  await admission.remove();
});

/** The account that stamps, in the place of ondemand/berth-hook. */
function hook(): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = admission.settings.parameters.stampers[0]?.split(':') ?? [];
  return { namespace, name };
}

/** What etc/kubernetes/hook/hook.yaml gives on namespaces. */
function hookRights(): Manifest[] {
  const rbac = 'rbac.authorization.k8s.io';
  const name = `${admission.settings.prefix}hook`;
  return [
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      metadata: { name },
      rules: [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'create', 'patch'] }],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', ...hook() }],
    },
  ];
}

async function withHook(find: (client: ApiClient) => Promise<Finding>): Promise<Finding> {
  const client = apiClient(
    { url: site.server, ca: site.ca.pem, token },
    AbortSignal.timeout(20_000),
  );
  try {
    return await find(client);
  } finally {
    client.close();
  }
}

const finding = (networkEgress = false): Promise<Finding> =>
  withHook((client) =>
    admissionFinding(
      client,
      `v${site.record.kubernetesMinor}.0`,
      admission.settings,
      networkEgress,
    ),
  );

const found = (status: Finding['status']): Promise<Finding> =>
  waitFor({ what: `a finding that is ${status}`, timeoutMs: 60_000 }, async () => {
    const one = await finding();
    return one.status === status ? one : undefined;
  });

/** The hook's own request at a login. */
async function stamp(value: string): Promise<number> {
  const { status } = await send(
    `${site.server}/api/v1/namespaces/${admission.namespace}?dryRun=All`,
    {
      method: 'PATCH',
      ca: site.ca.pem,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/merge-patch+json',
      },
      body: JSON.stringify({ metadata: { annotations: { 'openondemand.org/uid': value } } }),
    },
  );
  return status;
}

/** A pod that only the quota refuses, whether anything is filled in or not. */
const nobodysPod = withDefaultsFilledIn({
  ...testUser.pod(),
  spec: {
    ...testUser.pod().spec,
    securityContext: { runAsUser: 65_534, runAsGroup: 65_534, supplementalGroups: [65_534] },
  },
}) as Manifest;

describe('berth doctor with the rights of the hook', () => {
  it('says how to install policies that are missing, and names a right that is missing', async () => {
    const name = probeNamespace(admission.settings);
    const warning = await found('warning');
    assert(warning.status === 'warning');

    expect(warning.message).toContain(
      `not installed (no namespace ${name}). Without policies, users can`,
    );
    expect(warning.next).toContain('`host_paths` of /etc/berth/admission.yml');
    expect(warning.next).toMatch(
      hasMutatingPolicies(site.record.kubernetesMinor)
        ? /berth render policies \| kubectl apply -f -/
        : /berth render policies --kubernetes 1\.\d+ \| kubectl apply -f -/,
    );

    const [probe] = probeManifests(admission.settings);
    assert(probe !== undefined);
    await admission.cluster.create(probe);
    const { message } = await found('warning');
    expect(message).toContain(`may not create pods in ${name}`);
    expect(message).not.toContain('Without policies');
  });

  it('reports that the policies are enforced, and names a missing one', async () => {
    await admission.cluster.create(...probeManifests(admission.settings).slice(1));
    await admission.cluster.waitForControllers(probeNamespace(admission.settings));

    expect((await found('ok')).message).toContain('7 cases tried');
    for (const policy of ['pods', 'services']) {
      await admission.withoutPolicy(policy, async () => {
        const { message } = await found('failed');
        expect(message).toMatch(new RegExp(`: \\S+-${policy}$`));
      });
      await found('ok');
    }
  });

  it('says that the names of images are a way out, where pods may connect to some networks only', async () => {
    const { settings, cluster } = admission;
    const put = async (images: readonly string[]): Promise<void> => {
      const parameters = { ...settings.parameters, images };
      const [pods] = kubernetesPolicies({ ...settings, parameters }).filter(
        ({ kind, metadata }) =>
          kind === 'ValidatingAdmissionPolicy' && metadata.name === `${settings.prefix}pods`,
      );
      await cluster.kubectl(['replace', '-f', '-'], JSON.stringify(pods));
    };
    expect(await finding(true)).toMatchObject({ status: 'ok' });
    await put(['*']);
    const warned = await waitFor({ what: 'the warning', timeoutMs: 60_000 }, async () => {
      const one = await finding(true);
      return one.status === 'warning' ? one : undefined;
    });
    expect(warned.message).toContain('images of every registry');
    expect(await finding()).toMatchObject({ status: 'ok' });
    await put(settings.parameters.images);
    await waitFor({ what: 'the list', timeoutMs: 60_000 }, async () =>
      (await finding(true)).status === 'ok' ? true : undefined,
    );
  });

  it.each<[string, object, Finding['status'], string]>([
    ['users', { type: 'host', host_type: 'Directory', path: '/users' }, 'ok', 'accepts'],
    ['export', { type: 'nfs', host: 'nfs.example.org', path: '/export/a' }, 'ok', 'accepts'],
    ['root', { type: 'host', host_type: 'Directory', path: '/' }, 'warning', 'hostPath'],
    ['made', { type: 'host', host_type: 'DirectoryOrCreate', path: '/users' }, 'warning', 'type'],
    // OnDemand cannot mount it read-only.
    ['apps', { type: 'host', host_type: 'Directory', path: '/apps' }, 'warning', 'readOnly'],
    ['other', { type: 'nfs', host: 'nfs.example.org', path: '/etc' }, 'warning', 'nfs'],
    ['typo', { type: 'nsf', host: 'nfs.example.org', path: '/export/a' }, 'warning', 'Not found'],
  ])('tries the volume %s of OnDemand', async (name, mount, status, text) => {
    const job = { mounts: [{ name, destination_path: '/mnt', ...mount }] };
    const one = await withHook((client) => mountsFinding(client, job, admission.settings));

    expect([one.status, one.message]).toEqual([status, expect.stringContaining(text)]);
  });

  it.each<[string, object, string | undefined, Finding['status'], RegExp]>([
    ['home', {}, '/home/alice', 'ok', /accepts its pods$/],
    ['home elsewhere', {}, '/srv/alice', 'failed', /hostPath\.path of volume mount-0 must be one/],
    ['home of nobody known', {}, undefined, 'ok', /without the directories of users, which --user/],
    ['shared directory', { mounts: [{ source: '/sw' }] }, undefined, 'failed', /mount-0/],
    ['lifetime', { lifetime: '48h' }, '/home/alice', 'failed', /spec.activeDeadlineSeconds/],
  ])('tries the pod of a session: %s', async (_, fields, home, status, text) => {
    const image = 'registry.example.org/login:1';
    const profile = parseProfile(
      { backend: 'pod', image, lifetime: '12h', ...fields },
      'cloud',
      'cloud.yml',
    );
    const user = { name: 'alice', uid: 2001, gid: 2001, groups: [2001], shell: '/bin/sh' };
    const one = await withHook((client) =>
      podAdmissionFinding(
        client,
        profile,
        home === undefined ? undefined : { ...user, home },
        admission.settings,
      ),
    );

    expect([one.status, one.message]).toEqual([status, expect.stringMatching(text)]);
  });

  it('gives the account of login nodes the same right', async () => {
    const admin = admission.cluster.kubectl([
      ...['auth', 'can-i', 'create', 'pods', '-n', probeNamespace(admission.settings)],
      '--as=system:serviceaccount:ondemand:berth-login',
    ]);
    expect((await admin).trim()).toBe('yes');
  });

  it.each<[string, Manifest]>([
    ['pod', nobodysPod],
    ['Service', service({})],
  ])('may make no %s there that stays', async (_, object) => {
    const resource = `${object.kind.toLowerCase()}s`;
    const { status, text } = await send(
      `${site.server}/api/v1/namespaces/${probeNamespace(admission.settings)}/${resource}`,
      {
        method: 'POST',
        ca: site.ca.pem,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(object),
      },
    );

    expect([status, text]).toEqual([403, expect.stringContaining('exceeded quota')]);
  });
});

describe('the hook', () => {
  it('can stamp identities only with the right that the policies grant', async () => {
    expect(await stamp('5009')).toBe(403);

    await admission.cluster.create(...stampRights(admission.settings));

    await waitFor({ what: 'the right to stamp', timeoutMs: 60_000 }, async () =>
      (await stamp('5009')) === 200 ? true : undefined,
    );
  });
});
