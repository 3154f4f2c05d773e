import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Hub } from '../../rig/jupyterhub/hub.ts';
import { hubEnvironment } from '../../rig/jupyterhub/hub-environment.ts';
import { hubKey, installHub, removeHub } from '../../rig/jupyterhub/install-hub.ts';
import { startPodHost, type PodHost } from '../../rig/login-node/pod-host.ts';
import { ensureNode } from '../../rig/site/kubernetes-node/node.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

let site: Site;
let hub: Hub;
let login: PodHost;

beforeAll(async () => {
  site = await openSite();
  const node = await ensureNode(site);
  await node.routePods();
  await installHub(site);
  const software = await hubEnvironment();
  login = await startPodHost(site, {
    mode: 'forced',
    users: { 'nb-alice': ['nb-gpu'], 'nb-bob': [] },
    defaults: hubKey,
    mounts: [{ source: software, target: '/opt/jupyter', read_only: true }],
    profile: {
      environment: { set: { PYTHONPATH: '/opt/jupyter' } },
    },
    profiles: { gpu: { groups: ['nb-gpu'] } },
  });
  const directory = await Hub.makeDirectory();
  const { exitCode, stdout, stderr } = await login.host.asRoot([
    ...[`${installDirectory}/berth`, 'render', 'jupyterhub', 'base', 'gpu'],
    ...['--socket', Hub.socketIn(directory)],
  ]);
  expect([exitCode, stderr]).toEqual([0, '']);
  hub = await Hub.start(directory, {
    portal: login.portal,
    config: stdout.toString(),
    address: node.machineAddress,
    lines: [
      "c.JupyterHub.authenticator_class = 'dummy'",
      "c.DummyAuthenticator.password = 'x'",
      'c.Authenticator.allow_all = True',
    ],
  });
});
afterAll(async () => {
  await (hub as Hub | undefined)?.stop();
  await login.stop();
  await removeHub(site);
});

describe('a notebook in the namespace of its user', () => {
  it('runs a cell as the user, whose file the user reads by ssh', async () => {
    const alice = await hub.login('nb-alice', 'x');
    await alice.startServer({ profile: 'base' }).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${await hub.log()}`);
    });
    const printed = await alice.runCell(
      'import os; open(os.path.expanduser("~/from-notebook"), "w").write("hello"); print(os.getuid(), os.getgid(), os.getgroups())',
    );
    const { uid, gid, home } = login.host.account('nb-alice');
    expect(printed).toContain(`${uid} ${gid} `);
    const file = join(login.host.sharedDirectory, 'homes/nb-alice/from-notebook');
    expect((await stat(file)).uid).toBe(uid);
    expect(home).not.toBe('');
    const read = await login.host.ssh('nb-alice', ['cat from-notebook']);
    expect(read.stdout.toString()).toBe('hello');
  });
});
