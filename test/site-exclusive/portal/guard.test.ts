import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers } from '../../rig/site/test-users.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite } from '../../rig/site/site.ts';
import { roleBinding, rbacPath, StolenToken, userSubject } from '../../rig/site/stolen-token.ts';

let newcomers: TestUsers;
let portal: Portal;
let stolen: StolenToken;

const victim = 'u-gd-bob';
const inVictim = `${rbacPath}/namespaces/${victim}/rolebindings`;
const anotherOwner = { 'openondemand.org/owner': 'mallory' };

beforeAll(async () => {
  const site = await openSite();
  const cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  portal = await Portal.make(site, { clusters: { prod: { auth: { type: 'managed' } } } });
  stolen = await StolenToken.take(site, cluster);
  const { name } = await newcomers.create('gd-bob');
  await portal.prePun(name);
  newcomers.alsoRemove('u-gd-new');
  await stolen.waitForGuardPolicy();
});

afterAll(async () => {
  await newcomers.removeNamespaces();
  await portal.remove();
});

describe('with a stolen token of the hook the guard policy refuses', () => {
  it.each<[string, string, string, object]>([
    [
      'a label on kube-system',
      'PATCH',
      '/api/v1/namespaces/kube-system',
      { metadata: { labels: { 'app.kubernetes.io/name': 'open-ondemand' } } },
    ],
    [
      'an owner for kube-system',
      'PATCH',
      '/api/v1/namespaces/kube-system',
      { metadata: { annotations: anotherOwner } },
    ],
    [
      'the default ServiceAccount of kube-system',
      'PATCH',
      '/api/v1/namespaces/kube-system/serviceaccounts/default',
      { imagePullSecrets: [{ name: 'x' }] },
    ],
    [
      'ood-user in kube-system',
      'POST',
      `${rbacPath}/namespaces/kube-system/rolebindings`,
      roleBinding('ood-user', userSubject('mallory')),
    ],
    [
      'another owner for a namespace',
      'PATCH',
      `/api/v1/namespaces/${victim}`,
      { metadata: { annotations: anotherOwner } },
    ],
    [
      'a namespace without an owner',
      'PATCH',
      `/api/v1/namespaces/${victim}`,
      { metadata: { annotations: { 'openondemand.org/owner': null } } },
    ],
    [
      'a namespace that names nobody',
      'POST',
      '/api/v1/namespaces',
      { metadata: { name: 'u-gd-new', labels: { 'app.kubernetes.io/name': 'open-ondemand' } } },
    ],
    [
      'the namespace whose accounts a RoleBinding may name',
      'POST',
      '/api/v1/namespaces',
      { metadata: { name: 'job-pod-reaper', annotations: anotherOwner } },
    ],
    [
      'a role for the owner under another name',
      'POST',
      inVictim,
      roleBinding('ood-user', userSubject('oidc:gd-bob'), 'gd-bob-else'),
    ],
    [
      'a role for somebody else',
      'POST',
      inVictim,
      roleBinding('ood-user', userSubject('oidc:mallory')),
    ],
    [
      "a role for somebody else in the owner's own binding",
      'PATCH',
      `${inVictim}/gd-bob-ood-user`,
      { subjects: [userSubject('oidc:mallory')] },
    ],
    [
      'a role for somebody whose name ends as the owner’s',
      'PATCH',
      `${inVictim}/gd-bob-ood-user`,
      { subjects: [userSubject('oidc:evil-gd-bob')] },
    ],
    [
      'a role for everybody',
      'PATCH',
      `${inVictim}/gd-bob-ood-user`,
      { subjects: [{ kind: 'Group', name: 'system:authenticated' }] },
    ],
    [
      'a role for an account of another namespace',
      'PATCH',
      `${inVictim}/gd-bob-ood-user`,
      { subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: 'default' }] },
    ],
  ])('%s', async (_, method, path, body) => {
    const { status, text } = await stolen.request(method, path, body);

    expect([status, text]).toEqual([
      422,
      expect.stringContaining("ValidatingAdmissionPolicy 'berth-hook-guard'"),
    ]);
  });

  it.each([
    ['alone', 'gd-bob'],
    ['behind oidc:', 'oidc:gd-bob'],
    ['behind the issuer', 'https://idp.example.com/realms/main#gd-bob'],
  ])("but the owner's name %s is let through", async (_, name) => {
    const binding = `${inVictim}/gd-bob-ood-user?dryRun=All`;

    const { status, text } = await stolen.request('PATCH', binding, {
      subjects: [userSubject(name)],
    });

    expect([status, text]).toEqual([200, expect.stringContaining(`"name":"${name}"`)]);
  });
});
