import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Hub } from '../../rig/jupyterhub/hub.ts';
import { hubEnvironment } from '../../rig/jupyterhub/hub-environment.ts';
import { installHubJobs, renderHub } from '../../rig/jupyterhub/hub-jobs.ts';
import type { HubUser } from '../../rig/jupyterhub/hub-user.ts';
import { hubKey, installHub, removeHub } from '../../rig/jupyterhub/install-hub.ts';
import { testImageStore } from '../../rig/login-node/image-store.ts';
import { processesOf } from '../../rig/login-node/leftovers.ts';
import { startPodHost, type PodHost } from '../../rig/login-node/pod-host.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { ensureNode } from '../../rig/site/kubernetes-node/node.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { SlurmCluster, slurmPackages } from '../../rig/slurm/slurm-cluster.ts';

const alice = 'both-alice';
const bob = 'both-bob';
const group = 'both-lab';

let site: Site;
let hub: Hub;
let login: PodHost;
let slurm: SlurmCluster;
let user: HubUser;

beforeAll(async () => {
  await ensurePackages([...slurmPackages, 'sudo']);
  site = await openSite();
  const node = await ensureNode(site);
  await node.routePods();
  await installHub(site);
  const software = await hubEnvironment();
  const { store, site: image } = await testImageStore();
  const mount = { source: software, target: '/opt/jupyter', read_only: true };
  login = await startPodHost(site, {
    mode: 'forced',
    users: { [alice]: [group], [bob]: [], 'test-hub': [] },
    images: store,
    berth: { defaults: hubKey },
    mounts: [mount],
    profile: {
      environment: { set: { PYTHONPATH: '/opt/jupyter', PATH: '/opt/jupyter/bin:/usr/bin:/bin' } },
    },
    profiles: {
      job: {
        ...{ backend: 'podman', image, pull: 'never', network: 'host', groups: [group] },
        ...{ mounts: [{ source: '$HOME' }, mount], batch: { partition: 'debug', time: '5m' } },
        limits: { memory: '1G' },
      },
    },
  });
  slurm = await SlurmCluster.start(login.host);
  const directory = await Hub.makeDirectory();
  await installHubJobs(login.host, ['job']);
  hub = await Hub.start(directory, {
    ...{ host: login.host, portal: login.portal, address: node.machineAddress },
    config: await renderHub(login.host, [
      ...['base', '--slurm', 'job', '--socket', Hub.socketIn(directory)],
    ]),
    lines: [
      "c.JupyterHub.authenticator_class = 'dummy'",
      "c.DummyAuthenticator.password = 'x'",
      'c.Authenticator.allow_all = True',
      'c.JupyterHub.allow_named_servers = True',
    ],
  });
  user = await hub.login(alice, 'x');
});
afterAll(async () => {
  await (hub as Hub | undefined)?.stop();
  await login.stop();
  await (slurm as SlurmCluster | undefined)?.stop();
  await removeHub(site);
});

const whereAmI = 'import os; print("SLURM_JOB_ID" in os.environ, os.getuid())';

describe('a hub whose profiles are for pods and for Slurm', () => {
  it('starts what the chosen profile is for', async () => {
    const { uid } = login.host.account(alice);
    await user.startServer({ profile: 'base' });
    expect(await user.runCell(whereAmI)).toBe(`False ${uid}\n`);
    await user.startServer({ profile: 'job' }, 'batch');
    expect(await user.runCell(whereAmI, 'batch')).toBe(`True ${uid}\n`);
  });

  it('finds both again after a restart, and ends each alone', async () => {
    await hub.stopHub();
    await hub.startHub();
    const { uid } = login.host.account(alice);
    expect(await user.runCell(whereAmI, 'batch')).toBe(`True ${uid}\n`);
    await user.stopServer('batch');
    await expect.poll(() => processesOf(login.host, alice)).toEqual([]);
    expect(await user.runCell(whereAmI)).toBe(`False ${uid}\n`);
  });

  it('starts a pod where a job was', async () => {
    await user.startServer({ profile: 'base' }, 'batch');
    expect(await user.runCell(whereAmI, 'batch')).toContain('False');
    await user.stopServer('batch');
    await user.stopServer();
  });

  it('starts no job for a user who is in no group of its profile', async () => {
    const other = await hub.login(bob, 'x');
    await expect(other.startServer({ profile: 'job' })).rejects.toThrow('hub-no-profile');
  });
});
