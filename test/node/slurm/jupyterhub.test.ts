import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Hub } from '../../rig/jupyterhub/hub.ts';
import { hubEnvironment } from '../../rig/jupyterhub/hub-environment.ts';
import { installHubJobs, jobsDirectory, renderHub } from '../../rig/jupyterhub/hub-jobs.ts';
import type { HubUser } from '../../rig/jupyterhub/hub-user.ts';
import { takePort } from '../../rig/jupyterhub/take-port.ts';
import { processesOf } from '../../rig/login-node/leftovers.ts';
import { listeningPorts } from '../../rig/login-node/listening-ports.ts';
import { SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';
import { Browser, type Page } from '../../rig/site/browser.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { SlurmCluster, slurmPackages } from '../../rig/slurm/slurm-cluster.ts';
import { waitFor } from '../../rig/wait-for.ts';

const alice = 'hub-alice';
const bob = 'hub-bob';
const group = 'hub-users';

let host: SshHost;
let slurm: SlurmCluster;
let hub: Hub;
let user: HubUser;

beforeAll(async () => {
  await ensurePackages([...slurmPackages, 'sudo']);
  const software = await hubEnvironment();
  const notebook = {
    ...{ ...standardProfile, groups: [group], limits: { cpus: 1, memory: '1G' } },
    mounts: [{ source: '$HOME' }, { source: software, target: '/opt/jupyter', read_only: true }],
    environment: { set: { PYTHONPATH: '/opt/jupyter', PATH: '/opt/jupyter/bin:/usr/bin:/bin' } },
    batch: { partition: 'debug', time: '5m' },
  };
  host = await SshHost.start({
    mode: 'forced',
    users: { [alice]: [group], [bob]: [], 'test-hub': [] },
    profiles: { notebook, broken: { ...notebook, image: 'localhost/absent:1' } },
    sshYml: { rules: [{ profile: 'notebook' }] },
  });
  slurm = await SlurmCluster.start(host);
  const directory = await Hub.makeDirectory();
  const profiles = ['notebook', 'broken'];
  await installHubJobs(host, profiles);
  hub = await Hub.start(directory, {
    host,
    config: await renderHub(host, [
      ...['--slurm', profiles.join(','), '--socket', Hub.socketIn(directory)],
    ]),
    address: '127.0.0.1',
    ownProxy: true,
    lines: [
      "c.JupyterHub.authenticator_class = 'dummy'",
      "c.DummyAuthenticator.password = 'x'",
      'c.Authenticator.allow_all = True',
      "c.JupyterHub.log_level = 'DEBUG'",
    ],
  });
  user = await hub.login(alice, 'x');
});
afterAll(async () => {
  await (hub as Hub | undefined)?.stop();
  await slurm.stop();
});

const choices = (page: Page): (string | undefined)[] =>
  Array.from(page.text.matchAll(/<option value="([^"]*)">/g), ([, name]) => name);

/** The page with the form for a new server. */
async function spawnPage(username: string): Promise<{ browser: Browser; page: Page }> {
  const browser = new Browser('');
  const { text } = await browser.get(`${hub.url}/hub/login`);
  const [, _xsrf = ''] = /name="_xsrf" value="([^"]+)"/.exec(text) ?? [];
  const login = `${hub.url}/hub/login?next=%2Fhub%2Fspawn`;
  return { browser, page: await browser.submit(login, { username, password: 'x', _xsrf }) };
}

const jobId = async (): Promise<string> =>
  (await slurm.as(alice, ['squeue', '--me', '--noheader', '--format=%i'])).stdout.toString().trim();

describe('a notebook in a job of its user, where nobody sees the jobs of others', () => {
  it('runs a cell as the user, in the container and within the limits of the profile', async () => {
    await user.startServer({ profile: 'notebook' });
    const code =
      'import os; open("made", "w"); print(os.getuid(), os.getgid(), len(os.sched_getaffinity(0)), os.environ["BERTH_PROFILE"], os.getcwd())';
    const { uid, gid, home } = host.account(alice);
    expect(await user.runCell(code)).toBe(`${uid} ${gid} 1 notebook ${home}\n`);
    // Of the server, and one that ipykernel has for the output of forked processes: it takes only messages with its key.
    expect(await listeningPorts(host, alice)).toHaveLength(2);
    const { stdout } = await host.asRoot(['stat', '-c', '%U:%G', `${home}/made`]);
    expect(stdout.toString()).toBe(`${alice}:${alice}\n`);
    const queue = await slurm.as(alice, ['squeue', '--noheader', '--format=%u %j %T']);
    expect(queue.stdout.toString()).toBe(`${alice} berth-hub-notebook RUNNING\n`);
    expect(await hub.log()).toMatch(/submitting environment: .*'JUPYTERHUB_API_TOKEN'[,\]]/);
  });

  it('cannot change the commands that the hub runs', async () => {
    const code = `import json, os, urllib.request as r
body = json.dumps({"port": 8888, "batch_query_cmd": "touch /tmp/by-the-hub"}).encode()
headers = {"Authorization": "token " + os.environ["JUPYTERHUB_API_TOKEN"]}
try: print(r.urlopen(r.Request(os.environ["JUPYTERHUB_API_URL"] + "/batchspawner", body, headers)).status)
except r.HTTPError as e: print(e.code)`;
    expect(await user.runCell(code)).toBe('400\n');
  });

  it('is found again by a hub that was restarted, and ends with its job', async () => {
    await hub.stopHub();
    await hub.startHub();
    expect(await user.runCell('print(6 * 7)')).toBe('42\n');
    // As a site's job_submit plugin may have it.
    await slurm.as(alice, ['scontrol', 'update', `JobId=${await jobId()}`, 'JobName=site']);
    await user.stopServer();
    await expect.poll(() => processesOf(host, alice)).toEqual([]);
    expect((await slurm.as(alice, ['squeue', '--noheader'])).stdout.toString()).toBe('');
  });

  it('is not started for a user who is in no group of the profile', async () => {
    const other = await hub.login(bob, 'x');
    await expect(other.startServer({ profile: 'notebook' })).rejects.toThrow('hub-no-profile');
    expect(await processesOf(host, bob)).toEqual([]);
  });

  it('has a form with the profiles of the user', async () => {
    expect(choices((await spawnPage(alice)).page)).toEqual(['notebook', 'broken']);
    expect(choices((await spawnPage(bob)).page)).toEqual([]);
  });

  it('says that the job has ended, and where to look', async () => {
    const { browser, page } = await spawnPage(alice);
    const [, action = ''] = /<form[^>]* action="([^"]+)"/.exec(page.text) ?? [];
    await browser.submit(`${hub.url}${action.replaceAll('&amp;', '&')}`, { profile: 'broken' });
    const log = 'see berth-hub-broken.log in your home [hub-job-failed]';
    await expect.poll(() => hub.log()).toContain(log);
    const { stdout } = await slurm.as(alice, ['cat', 'berth-hub-broken.log']);
    expect(stdout.toString()).toContain('localhost/absent:1');
    // While it ends, the hub starts no other one.
    await expect.poll(() => user.servers()).toEqual({});
  });
});

describe('the port of a server', () => {
  /** Where servers have listened, by what batchspawner has logged. */
  const ports = async (): Promise<number[]> =>
    Array.from((await hub.log()).matchAll(/ started at [^:\s]+:(\d+)/g), ([, port]) =>
      Number(port),
    );

  it("is nobody else's from when the hub knows it until the server ends", async () => {
    const before = (await ports()).length;
    const starting = user.startServer({ profile: 'notebook' });
    const port = await waitFor(
      { what: 'the port', timeoutMs: 60_000, everyMs: 20 },
      async () => (await ports())[before],
    );
    const taker = await takePort(host, bob, port, 1);
    const outcome = await taker.outcome;
    await starting.finally(() => taker.end());
    expect(outcome).toBe('in use');
    expect(await user.runCell('print(6 * 7)')).toBe('42\n');
    await user.stopServer();
  });

  it('gets no request of the hub when somebody else has it after the end of the job', async () => {
    await user.startServer({ profile: 'notebook' });
    const port = (await ports()).at(-1) ?? 0;
    const taker = await takePort(host, bob, port, 60);
    await slurm.as(alice, ['scancel', '--name=berth-hub-notebook']);
    expect(await taker.outcome).toBe('listening');
    const answers = await Promise.all(
      [1, 2, 3].map(() => user.request('GET', `/user/${alice}/api/contents`)),
    );
    expect(answers.filter(({ text }) => text.includes('taken'))).toEqual([]);
    const received = await taker.end();
    expect(received.length).toBeGreaterThan(0);
    expect(received.filter((text) => text.includes('HTTP/'))).toEqual([]);
    await user.stopServer();
  });
});

describe("the hub's way to a server", () => {
  it("is nobody else's while the hub is dead and its proxy lives, and the next hub finds the server", async () => {
    await user.startServer({ profile: 'notebook' });
    const { protocol, port, host: path } = await hub.routeOf(alice);
    await hub.killHub();
    const place = protocol === 'http:' ? port : decodeURIComponent(path);
    const taker = await takePort(host, bob, place, 3);
    const outcome = await taker.outcome;
    const { text } = await user.request('GET', `/user/${alice}/api/contents`);
    const received = await taker.end();
    await hub.startHub();
    expect([outcome, text.includes('taken'), received]).toEqual(['in use', false, []]);
    expect((await hub.routeOf(alice)).host).toBe(path);
    expect(await user.runCell('print(6 * 7)')).toBe('42\n');
  });

  it('is closed to everybody else', async () => {
    const { host: path } = await hub.routeOf(alice);
    const connect = 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])';
    const argv = ['python3', '-c', connect, decodeURIComponent(path)];
    expect((await host.asUser(bob, argv)).stderr).toContain('PermissionError');
    expect((await host.asUser('test-hub', argv)).exitCode).toBe(0);
    await user.stopServer();
  });

  it('is the address of its node where the hub does not know the name', async () => {
    await host.asRoot(['sed', '--in-place', '/node_1-/d', '/etc/hosts']);
    await user.startServer({ profile: 'notebook' });
    expect(await user.runCell('print(6 * 7)')).toBe('42\n');
    expect(await hub.log()).not.toContain('slurm-node-unreachable');
    await user.stopServer();
  });
});

describe('the form of a server', () => {
  it('that one user opens many times is a few questions about an account', async () => {
    const { browser } = await spawnPage(alice);
    const asked = async (): Promise<number> =>
      (await hub.log()).split('account looked up').length - 1;
    const before = await asked();
    const pages = Array.from({ length: 150 }, () => browser.get(`${hub.url}/hub/spawn`));
    expect(choices((await spawnPage(alice)).page)).toEqual(['notebook', 'broken']);
    for (const page of await Promise.all(pages)) expect(choices(page)).toContain('notebook');
    expect((await asked()) - before).toBeLessThan(15);
  });
});

describe("what sudo lets the hub's account do", () => {
  const sbatch = ['/usr/bin/sbatch', '--parsable', `${jobsDirectory}/notebook.sh`];
  const end = ['/bin/sh', `${jobsDirectory}/end`];
  const squeue = ['/usr/bin/squeue', '--me', '--noheader', '-o', '%T %B'];
  const ran = async (as: string, argv: readonly string[]): Promise<boolean> => {
    const sudo = ['sudo', '--non-interactive', `--user=${as}`, ...argv];
    const { stderr } = await host.asUser('test-hub', sudo);
    return !/a password is required|not allowed to set/.test(stderr);
  };

  it('is to ask for jobs, and to cancel those of the hub', async () => {
    const job = await slurm.sbatch(alice, '#!/bin/sh\nexec sleep 1000\n');
    await slurm.waitForState(job, 'RUNNING');
    expect(await ran(alice, [...squeue, `--jobs=${job}`])).toBe(true);
    expect(await ran(alice, [...end, job])).toBe(true);
    expect(await slurm.field(job, 'JobState')).toBe('RUNNING');
    await slurm.as(alice, ['scancel', job]);
    await slurm.waitForState(job, 'CANCELLED');
  });

  it.each<[string, string, readonly string[]]>([
    ['another user', bob, sbatch],
    ['root', 'root', sbatch],
    ['another script', alice, ['/usr/bin/sbatch', '--parsable', '/tmp/notebook.sh']],
    ['further options', alice, [...sbatch, '--wrap=id']],
    ['a script on stdin', alice, ['/usr/bin/sbatch', '--parsable']],
    ['another command', alice, ['/usr/bin/id']],
    ['cancelling with options', alice, [...end, '1', '--user=x']],
    ['cancelling any job', alice, ['/usr/bin/scancel', '--me', '1']],
    ['asking with options', alice, [...squeue, '--jobs=1', '--all']],
    ['an environment of its own', alice, ['SBATCH_WRAP=id', ...sbatch]],
  ])('is not %s', async (_, as, argv) => {
    expect(await ran(as, argv)).toBe(false);
  });
});
