import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdmissionSite } from '../../rig/admission/admission-site.ts';
import { siteParameters } from '../../rig/admission/test-user.ts';
import { Hub } from '../../rig/jupyterhub/hub.ts';
import { hubEnvironment } from '../../rig/jupyterhub/hub-environment.ts';
import { installHubJobs, renderHub } from '../../rig/jupyterhub/hub-jobs.ts';
import type { HubUser } from '../../rig/jupyterhub/hub-user.ts';
import { hubKey, installHub, removeHub } from '../../rig/jupyterhub/install-hub.ts';
import { takePort } from '../../rig/jupyterhub/take-port.ts';
import { testImageStore } from '../../rig/login-node/image-store.ts';
import { processesOf } from '../../rig/login-node/leftovers.ts';
import { startPodHost, type PodHost } from '../../rig/login-node/pod-host.ts';
import { codeBlocks } from '../../rig/markdown-pages.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { publicDirectory } from '../../rig/site/directories.ts';
import { ensureNode, type TestNode } from '../../rig/site/kubernetes-node/node.ts';
import { serviceAddress } from '../../rig/site/kubernetes/control-plane.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { slurmClientMounts, SlurmCluster, slurmPackages } from '../../rig/slurm/slurm-cluster.ts';

const alice = 'both-alice';
const bob = 'both-bob';
const group = 'both-lab';

let site: Site;
let node: TestNode;
let hub: Hub;
let login: PodHost;
let slurm: SlurmCluster;
let user: HubUser;

beforeAll(async () => {
  await ensurePackages([...slurmPackages, 'sudo']);
  site = await openSite();
  node = await ensureNode(site);
  await node.routePods();
  await installHub(site);
  const software = await hubEnvironment();
  const { store, site: image } = await testImageStore();
  const mount = { source: software, target: '/opt/jupyter', read_only: true };
  const path = '/opt/jupyter/bin:/usr/bin:/bin';
  login = await startPodHost(site, {
    mode: 'forced',
    users: { [alice]: [group], [bob]: [], 'test-hub': [] },
    images: store,
    // Pods do not reach the address that the machine has for the API server.
    clusters: {
      prod: {
        server: { endpoint: `https://${serviceAddress}`, cert_authority_file: site.ca.file },
      },
    },
    berth: { defaults: hubKey },
    // With Berth, kubectl and the CA's certificate, by the paths in the user's kubeconfig.
    mounts: [mount, { source: publicDirectory, read_only: true }],
    profile: {
      lifetime: '1h',
      environment: {
        set: {
          PYTHONPATH: `/opt/jupyter:${installDirectory}/share/etc/jupyterhub`,
          PATH: `${path}:${publicDirectory}`,
        },
      },
    },
    profiles: {
      job: {
        ...{ backend: 'podman', image, pull: 'never', network: 'host', groups: [group] },
        ...{ batch: { partition: 'debug', time: '5m' }, limits: { memory: '1G' }, slurm: {} },
        // The host's passwd, because the image does not have SlurmUser.
        mounts: [
          ...[{ source: '$HOME' }, mount, { source: '/etc/passwd', read_only: true }],
          ...slurmClientMounts,
        ],
        environment: { set: { PYTHONPATH: '/opt/jupyter', PATH: path } },
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

  const namespace = `u-${alice}`;
  it.each<[string, () => Promise<unknown>]>([
    ['has ended', () => user.request('POST', `/user/${alice}/api/shutdown`)],
    [
      'was deleted',
      () =>
        new LiveCluster(site).kubectl(['delete', 'pods', '--all', '--wait=false', '-n', namespace]),
    ],
  ])('sends nothing to another pod that gets the address of one that %s', async (_, end) => {
    const status = async (): Promise<string> => {
      const pods = ['get', 'pods', '-n', namespace, '-o', 'jsonpath={.items[*].status}'];
      return new LiveCluster(site).kubectl(pods);
    };
    await user.startServer({ profile: 'base' });
    const [, address = ''] = /"podIP":"([^"]+)"/.exec(await status()) ?? [];
    const inNode = { entered: (argv: readonly string[]) => [...node.enter, ...argv] };
    const taker = await takePort(inNode, 'nobody', 8888, 1);
    expect(await taker.outcome).toBe('listening');
    await end();
    await waitFor({ what: 'the end of the server', timeoutMs: 60_000, everyMs: 20 }, async () =>
      /^$|"terminated"/.test(await status()) ? true : undefined,
    );
    await node.inside(['ip', 'address', 'add', address, 'dev', 'lo']);
    await user.request('GET', `/user/${alice}/api/contents`);
    await node.inside(['ip', 'address', 'delete', address, 'dev', 'lo']);
    expect(await taker.end()).toEqual([]);
    await expect.poll(() => user.servers()).toEqual({});
  });

  it('starts no job for a user who is in no group of its profile', async () => {
    const other = await hub.login(bob, 'x');
    await expect(other.startServer({ profile: 'job' })).rejects.toThrow('hub-no-profile');
  });
});

describe('Dask', () => {
  const [inPod = '', inJob = ''] = codeBlocks('docs/jupyterhub.md')
    .map(({ text }) => text)
    .filter((text) => text.includes('from distributed import'));
  const namespace = `u-${alice}`;
  // Dask may log, at the end, that connections were closed.
  const sumOfSquares = /^328350$/m;
  let cluster: LiveCluster;
  let policies: AdmissionSite;

  beforeAll(async () => {
    cluster = new LiveCluster(site);
    // Alice's login at the portal gives her the credentials.
    await site.keycloak.addUser(alice);
    login.portal.wrapArgv = (argv) => login.host.entered(argv);
    const { exitCode, stderr } = await login.portal.prePun(alice, await login.portal.login(alice));
    expect(exitCode, stderr).toBe(0);
    expect(stderr).toContain('kubeconfig written');
    policies = await AdmissionSite.install(site, {
      ...siteParameters,
      images: [...siteParameters.images, 'localhost'],
      hostPaths: [
        { path: `${login.host.sharedDirectory}/homes/{user}`, readOnly: false },
        ...[publicDirectory, await hubEnvironment()].map((path) => ({ path, readOnly: true })),
      ],
    });
    const { key, value } = policies.settings.label;
    await cluster.kubectl(['label', 'namespace', namespace, `${key}=${value}`]);
  });
  afterAll(async () => {
    await cluster.kubectl(['label', 'namespace', namespace, `${policies.settings.label.key}-`]);
    await policies.remove();
  });

  async function workers(): Promise<string> {
    const selector = ['-l', 'app.kubernetes.io/component=dask-worker', '-o', 'name'];
    return cluster.kubectl(['get', 'pods', '-n', namespace, ...selector]);
  }

  it('has workers in pods, as the user, for as long as the notebook uses them', async () => {
    await user.startServer({ profile: 'base' });
    expect(await user.runCell(inPod)).toMatch(sumOfSquares);
    await expect.poll(workers).toBe('');

    const code = `
from berth_dask import PodCluster
from distributed import Client
import os, socket
cluster = PodCluster()
client = Client(cluster)
cluster.scale(2)
client.wait_for_workers(2)
who = lambda: [os.getuid(), os.getgroups(), os.getcwd(), os.environ["BERTH_PROFILE"]]
of_hub = lambda: [name for name in os.environ if "JUPYTERHUB" in name]
print(len({socket.gethostname(), *client.run(socket.gethostname).values()}))
print(*(one == who() for one in client.run(who).values()), *client.run(of_hub).values())
cluster.scale(1)
while len(client.scheduler_info()["workers"]) != 1: client.run_on_scheduler(lambda: None)
print(client.submit(sum, [1, 2]).result())
address = cluster.scheduler_address.removeprefix("tls://")
for other in (lambda: Client("tls://" + address, timeout=5), lambda: socket.create_connection((address.split(":")[0], 8787))):
    try: print(other())
    except (ConnectionRefusedError, TypeError) as error: print(type(error).__name__)`;
    const closed = 'TypeError\nConnectionRefusedError\n';
    expect(await user.runCell(code)).toBe(`3\nTrue True [] []\n3\n${closed}`);
    await expect.poll(async () => (await workers()).trim().split('\n').length).toBe(1);
    await user.stopServer();
    await expect.poll(workers).toBe('');
  });

  it('has workers in jobs, in the container of the profile', async () => {
    const script = await login.host.asRoot([
      `${installDirectory}/berth`,
      'render',
      'sbatch',
      'job',
    ]);
    await slurm.as(alice, ['tee', 'job.sh'], { input: script.stdout });
    await user.startServer({ profile: 'job' }, 'batch');
    expect(await user.runCell(inJob, 'batch')).toMatch(sumOfSquares);
    await user.stopServer('batch');
    await expect.poll(() => processesOf(login.host, alice)).toEqual([]);
  });
});
