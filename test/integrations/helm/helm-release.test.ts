import { execa } from 'execa';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { chart, helmBinaries } from '../../rig/helm/build.ts';
import { problems, runDoctor } from '../../rig/site/doctor-report.ts';
import { ensureNode } from '../../rig/site/kubernetes-node/node.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { StolenToken } from '../../rig/site/stolen-token.ts';
import { berthImage } from '../../site-exclusive/in-cluster/image.ts';

let site: Site;
let cluster: LiveCluster;
let portal: Portal;
let program: string;
let image: readonly string[];

/** The portal's accounts exist already, made by `kubectl apply -k`: the release takes them over. */
beforeAll(async () => {
  site = await openSite();
  if (site.skipReason('node') !== undefined) return;
  cluster = new LiveCluster(site);
  program = (await helmBinaries()).helm;
  const [, repository = '', tag = ''] =
    /^(.+):(.+)$/.exec(await berthImage(await ensureNode(site))) ?? [];
  image = ['--set', `image.repository=${repository}`, '--set-string', `image.tag=${tag}`];
  portal = await Portal.make(site);
  await cluster.kubectl(['delete', 'clusterrole', 'berth-reaper', '--ignore-not-found']);
  await forgetRelease();
}, 1_800_000);
beforeEach(({ skip }) => {
  const reason = site.skipReason('node');
  skip(reason !== undefined, reason);
});

/** Other tests need the objects of the release, so it is forgotten and not uninstalled. */
async function forgetRelease(): Promise<void> {
  await cluster.kubectl(['delete', 'secret', '-n', 'ondemand', '-l', 'owner=helm,name=berth']);
}
afterAll(async () => {
  if (site.skipReason('node') !== undefined) return;
  await forgetRelease();
  await portal.remove();
});

async function helm(...args: string[]): Promise<string> {
  const { stdout } = await execa(
    program,
    [...args, '--namespace', 'ondemand', '--kubeconfig', site.adminKubeconfig],
    { env: { HOME: '/nonexistent' }, timeout: 120_000 },
  );
  return stdout;
}

async function expectGreen(): Promise<void> {
  await (await StolenToken.take(site, cluster)).waitForGuardPolicy();
  const report = await runDoctor(portal);
  expect(problems(report, 'prod')).toEqual([]);
  expect(report.exitCode).toBe(0);
}

const reaper = (): Promise<unknown> => cluster.get('cronjob', 'berth-reaper', 'ondemand');

it('takes over what kubectl applied', async () => {
  const said = await helm(
    ...['install', 'berth', chart, '--take-ownership', '--force-conflicts', ...image],
  );

  expect(said).toContain('berth token setup --cluster NAME');
  const account = await cluster.get('serviceaccount', 'berth-hook', 'ondemand');
  expect(account?.metadata.labels).toMatchObject({ 'app.kubernetes.io/managed-by': 'Helm' });
  await expectGreen();
});

it('refuses the misuse of the hook’s token in `helm test`', async () => {
  const said = await helm('test', 'berth');
  expect(said).toMatch(/TEST SUITE: +berth-test-guard\n[^]*Phase: +Succeeded/);
});

it('fails `helm test` without the guard', async () => {
  await cluster.kubectl(['delete', 'validatingadmissionpolicybinding', 'berth-hook-guard']);
  const stolen = await StolenToken.take(site, cluster);
  try {
    await stolen.waitForGuardPolicy({ removed: true });
    await expect(helm('test', 'berth', '--timeout', '40s')).rejects.toThrow(/berth-test-guard/);
    expect(await cluster.kubectl(['logs', '-n', 'ondemand', 'berth-test-guard'])).toMatch(/^201 /);
  } finally {
    await cluster.kubectl(['apply', '-k', 'etc/kubernetes']);
    await stolen.waitForGuardPolicy();
  }
});

it('adds the reaper in an upgrade', async () => {
  await helm(
    ...['upgrade', 'berth', chart, '--take-ownership', '--force-conflicts', ...image],
    ...['--set', 'reaper.enabled=true,reaper.schedule=7 3 * * *'],
  );

  expect(await reaper()).toMatchObject({ spec: { schedule: '7 3 * * *', suspend: true } });
  expect(await helm('test', 'berth')).toMatch(
    /TEST SUITE: +berth-test-reaper\n[^]*Phase: +Succeeded/,
  );
  await expectGreen();
});

it('removes it in a rollback', async () => {
  await helm('rollback', 'berth', '1', '--force-conflicts');

  expect(await reaper()).toBeUndefined();
  expect(await cluster.get('serviceaccount', 'berth-hook', 'ondemand')).toBeDefined();
  await expectGreen();
});
