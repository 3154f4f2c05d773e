import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCheck, runDoctor } from '../../rig/site/doctor-report.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

let site: Site;
let portal: Portal;

beforeAll(async () => {
  site = await openSite();
  portal = await Portal.make(site);
  await rm(portal.files.kubeconfig);
  expect(await setup()).toMatchObject({ exitCode: 0, stderr: '' });
});
afterAll(() => portal.remove());

const setup = () =>
  portal.berth('token', 'setup', '--cluster', 'prod', '--from', site.adminKubeconfig);

describe('berth token setup', () => {
  it('grants the right for a pull secret of another name, which applying etc/kubernetes again leaves', async () => {
    const secret = 'registry-of-the-token-test';
    const rights = async () => findCheck(await runDoctor(portal), 'rights');
    await portal.writeHookEnv({ IMAGE_PULL_SECRET: secret });
    try {
      expect(await rights()).toMatchObject({
        status: 'failed',
        message: expect.stringContaining(`get secrets ${secret}`) as string,
        next: expect.stringMatching(
          /^Run `berth token setup --cluster prod --from ADMIN_KUBECONFIG`: it also grants/,
        ) as string,
      });
      expect(await setup()).toMatchObject({ exitCode: 0, stderr: '' });
      const etc = new URL('../../../etc/kubernetes', import.meta.url).pathname;
      expect(await site.kubectl(['apply', '-k', etc])).toMatchObject({ exitCode: 0 });
      expect((await rights()).status).toBe('ok');
    } finally {
      await portal.writeHookEnv();
      const made = `clusterrole,clusterrolebinding berth-hook-pull-secret-${secret}`;
      await site.kubectl(`delete --ignore-not-found ${made}`.split(' '));
    }
  });

  it('names the manifests of an account that is missing', async () => {
    const { exitCode, stderr } = await portal.berth(
      ...['token', 'setup', '--cluster', 'prod', '--from', site.adminKubeconfig],
      ...['--service-account', 'default/berth-reaper'],
    );
    expect(exitCode).toBe(69);
    expect(stderr).toMatch(/\nnext: .* apply -k \S+\/share\/etc\/kubernetes\/reaper$/m);
  });
});
