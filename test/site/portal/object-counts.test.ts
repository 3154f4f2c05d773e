import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { findCheck, runDoctor } from '../../rig/site/doctor-report.ts';
import { send } from '../../rig/site/https.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { TestUsers } from '../../rig/site/test-users.ts';

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;
beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  portal = await Portal.make(site);
});
afterAll(async () => {
  await newcomers.removeNamespaces();
  await portal.remove();
});

/** That of the shipped example. */
async function exampleQuota(): Promise<{ hard: Record<string, string> }> {
  const text = await readFile(
    new URL('../../../etc/berth/berth.yml.example', import.meta.url),
    'utf8',
  );
  const example = parse(text) as {
    defaults: { resource_quota: { hard: Record<string, string> } };
  };
  return example.defaults.resource_quota;
}

const service = {
  type: 'NodePort',
  ports: [1, 2, 3, 4, 5].map((port) => ({ name: `p${port}`, port })),
};

it.each([
  ['a hundred', 'configmaps', {}, 'count/configmaps=100', 90],
  ['a hundred', 'secrets', {}, 'count/secrets=100', 90],
  // Each of their ports is one of the nodes'.
  ['twenty ports of', 'services', { spec: service }, 'services.nodeports=20', 4],
] as const)(
  'with the quota of the example, a user creates only %s %s',
  async (_, resource, fields, limit, least) => {
    const quota = await exampleQuota();
    await portal.writeBerth({ defaults: { resource_quota: quota } });
    const user = await newcomers.create(`oc-${resource}`);
    await site.keycloak.addUser(user.name);
    const tokens = await portal.login(user.name);
    expect(await portal.prePun(user.name, tokens)).toMatchObject({ exitCode: 0 });

    const create = async (name: string): Promise<{ status: number; text: string }> => {
      const url = `${site.server}/api/v1/namespaces/${user.namespace}/${resource}`;
      const headers = {
        authorization: `Bearer ${tokens.idToken}`,
        'content-type': 'application/json',
      };
      const body = JSON.stringify({ metadata: { name }, ...fields });
      return send(url, { ca: site.ca.pem, method: 'POST', headers, body });
    };
    let created = 0;
    let last = await create('filler-0');
    while (last.status === 201 && created < 150) {
      created += 1;
      last = await create(`filler-${created}`);
    }
    expect(last).toMatchObject({
      status: 403,
      text: expect.stringContaining('exceeded quota: ondemand') as string,
    });
    expect(last.text).toContain(`limited: ${limit}`);
    // The namespace has some from the beginning, such as kube-root-ca.crt.
    expect(created).toBeGreaterThanOrEqual(least);
  },
);

it('berth doctor warns where users may create any number, also by the roles of user_roles', async () => {
  const quota = await exampleQuota();
  const check = async (resource_quota?: object, ...user_roles: string[]) => {
    await portal.writeBerth({ defaults: { resource_quota, user_roles } });
    return findCheck(await runDoctor(portal), 'object-counts');
  };
  expect(await check()).toMatchObject({
    status: 'warning',
    message: expect.stringContaining(
      'limits count/configmaps, count/pods, count/secrets, count/services, services.nodeports in',
    ) as string,
    next: expect.stringMatching(
      / count\/configmaps, .*, count\/services, services\.nodeports in /,
    ) as string,
  });
  expect(await check({ hard: { pods: '20', secrets: '5' } })).toMatchObject({
    status: 'warning',
    message: expect.stringContaining(
      'limits count/configmaps, count/pods, count/services, services.nodeports in',
    ) as string,
  });
  expect(await check(quota)).toMatchObject({ status: 'ok' });
  const { 'services.nodeports': ports, ...counts } = quota.hard;
  expect([ports, await check({ hard: counts })]).toMatchObject([
    '20',
    {
      status: 'warning',
      message: expect.stringContaining('limits services.nodeports in') as string,
      next: expect.stringContaining('set services.nodeports in resource_quota.hard') as string,
    },
  ]);
  expect(await check({ hard: counts, scopes: ['NotTerminating'] })).toMatchObject({
    status: 'warning',
  });

  // The shipped role under another name: other files take the shared one away.
  const manifest = new URL('../../../etc/kubernetes/user-roles/user-roles.yaml', import.meta.url);
  const roles = (await readFile(manifest, 'utf8'))
    .replaceAll('berth-dask', 'oc-dask')
    .replace('[batch]', "['', batch]")
    .replaceAll('berth-hook-user-roles', 'oc-user-roles');
  await cluster.kubectl(['apply', '-f', '-'], roles);
  const { 'count/jobs.batch': jobs, ...others } = quota.hard;
  expect(jobs).toBe('100');
  expect(await check({ hard: others })).toMatchObject({ status: 'ok' });
  expect(await check({ hard: others }, 'oc-dask')).toMatchObject({
    status: 'warning',
    message: expect.stringContaining('limits count/jobs, count/jobs.batch in') as string,
  });
  expect(await check(quota, 'oc-dask')).toMatchObject({ status: 'ok' });
  await cluster.kubectl(['delete', '-f', '-'], roles);
});
