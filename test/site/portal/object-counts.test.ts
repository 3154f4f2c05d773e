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

it.each(['configmaps', 'secrets'])(
  'with the quota of the example, a user creates only a hundred %s',
  async (resource) => {
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
      const body = JSON.stringify({ metadata: { name } });
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
    expect(last.text).toContain(`count/${resource}=100`);
    // The namespace has some from the beginning, such as kube-root-ca.crt.
    expect(created).toBeGreaterThan(90);
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
    message: expect.stringContaining('number of configmaps, pods, secrets, services in') as string,
    next: expect.stringContaining('count/configmaps') as string,
  });
  expect(await check({ hard: { pods: '20', secrets: '5' } })).toMatchObject({
    status: 'warning',
    message: expect.stringContaining('number of configmaps, pods, services in') as string,
  });
  expect(await check(quota)).toMatchObject({ status: 'ok' });
  expect(await check({ ...quota, scopes: ['NotTerminating'] })).toMatchObject({
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
    message: expect.stringContaining('number of jobs, jobs.batch in') as string,
  });
  expect(await check(quota, 'oc-dask')).toMatchObject({ status: 'ok' });
  await cluster.kubectl(['delete', '-f', '-'], roles);
});
