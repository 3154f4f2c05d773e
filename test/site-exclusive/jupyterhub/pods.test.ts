import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdmissionSite } from '../../rig/admission/admission-site.ts';
import { siteParameters } from '../../rig/admission/test-user.ts';
import { Hub } from '../../rig/jupyterhub/hub.ts';
import { ldapPassword, startHubDirectory } from '../../rig/jupyterhub/hub-directory.ts';
import { hubEnvironment } from '../../rig/jupyterhub/hub-environment.ts';
import { renewedKubeconfig } from '../../rig/jupyterhub/hub-token.ts';
import type { HubUser } from '../../rig/jupyterhub/hub-user.ts';
import { hubKey, installHub, removeHub } from '../../rig/jupyterhub/install-hub.ts';
import { startPodHost, type PodHost } from '../../rig/login-node/pod-host.ts';
import { ensureAccount } from '../../rig/site/accounts.ts';
import { ensureNode } from '../../rig/site/kubernetes-node/node.ts';
import { LiveCluster, type LiveObject } from '../../rig/site/live-cluster.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { readerAccount, type Slapd } from '../../rig/slapd.ts';
import { waitFor } from '../../rig/wait-for.ts';

/** Where the hub has its kubeconfig. */
let kubeconfig: string;
let site: Site;
let cluster: LiveCluster;
let slapd: Slapd;
let login: PodHost;
let hub: Hub;
/** Starts a hub in a directory of its own with what `berth render jupyterhub` printed. */
let startHub: (directory: string) => Promise<Hub>;
let alice: HubUser;
let bob: HubUser;

const groups = {
  'nb-alice': ['nb-users', 'nb-gpu'],
  'nb-bob': ['nb-users'],
  'nb-cara': ['nb-idle'],
  'nb-dora': [],
} as const;
const names = Object.keys(groups) as (keyof typeof groups)[];

/** A login node, a directory and a hub with the same people, of whom nobody has logged in yet. */
beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  const node = await ensureNode(site);
  await node.routePods();
  await installHub(site);
  await cluster.deleteNamespacesAndWait(names.map((name) => `u-${name}`));
  const accounts = await Promise.all(
    names.map((name) => ensureAccount(name, { groups: groups[name] })),
  );
  const directory = await startHubDirectory(site, accounts);
  slapd = directory.slapd;
  login = await startPodHost(site, {
    mode: 'forced',
    users: groups,
    berth: { defaults: hubKey, ldap: directory.ldap },
    mounts: [{ source: await hubEnvironment(), target: '/opt/jupyter', read_only: true }],
    profile: {
      groups: ['nb-users'],
      environment: { set: { PYTHONPATH: '/opt/jupyter', PATH: '/opt/jupyter/bin:/usr/bin:/bin' } },
      limits: { cpus: 0.5, memory: '512M' },
    },
    profiles: {
      gpu: { groups: ['nb-gpu'], lifetime: '2h' },
      idle: { groups: ['nb-idle'], lifetime: 'user', grace: '5s' },
      absent: { image: 'localhost/absent:1', pull: 'never' },
    },
  });
  const place = await Hub.makeDirectory();
  kubeconfig = Hub.secretIn(place, 'kubeconfig');
  const { exitCode, stdout, stderr } = await login.host.asRoot([
    ...[`${installDirectory}/berth`, 'render', 'jupyterhub', 'base', 'gpu', 'idle', 'absent'],
    ...['--socket', Hub.socketIn(place), '--login', 'ldap'],
    ...['--ldap-password-file', Hub.secretIn(place, 'ldap-password')],
  ]);
  expect([exitCode, stderr]).toEqual([
    0,
    'warning: pull: never in the profile absent: its pods start only on nodes that have the image; pull: missing lets nodes pull it\n',
  ]);
  startHub = (own) =>
    Hub.start(own, {
      portal: login.portal,
      config: stdout.toString().replaceAll(place, own),
      address: node.machineAddress,
      secrets: { 'ldap-password': readerAccount.password },
      lines: ['c.JupyterHub.allow_named_servers = True'],
    });
  hub = await startHub(place);
  // The last test waits for the end of this one.
  await started(await hub.login('nb-cara', ldapPassword), { profile: 'idle' });
  expect(await pods('nb-cara')).toHaveLength(1);
});
afterAll(async () => {
  await (hub as Hub | undefined)?.stop();
  await login.stop();
  await slapd.remove();
  await removeHub(site);
  await cluster.deleteNamespaces(names.map((name) => `u-${name}`));
});

async function pods(user: string): Promise<readonly LiveObject[]> {
  const selector = ['-l', 'component=singleuser-server', '-o', 'json'];
  const text = await cluster.kubectl(['get', 'pods', '-n', `u-${user}`, ...selector]);
  return (JSON.parse(text) as { items: LiveObject[] }).items;
}

const started = async (user: HubUser, options: object, server?: string): Promise<void> => {
  await user.startServer(options, server).catch(async (error: unknown) => {
    throw new Error(`${String(error)}\n${await hub.log()}`);
  });
};

describe('a notebook in a pod', () => {
  it('is the first login of its user, whose namespace the hub has made as the portal would', async () => {
    expect(await cluster.get('namespace', 'u-nb-alice')).toBeUndefined();

    alice = await hub.login('NB-Alice', ldapPassword);
    expect(alice.name).toBe('nb-alice');
    await started(alice, { profile: 'base' });

    const { uid, gid } = login.host.account('nb-alice');
    expect((await cluster.get('namespace', 'u-nb-alice'))?.metadata.annotations).toMatchObject({
      'openondemand.org/owner': 'nb-alice',
      'openondemand.org/uid': String(uid),
      'openondemand.org/gid': String(gid),
    });
    expect(await cluster.get('rolebinding', 'nb-alice-ood-user', 'u-nb-alice')).toBeDefined();
  });

  it('has the identity and the home that ssh has', async () => {
    const { uid, gid, home } = login.host.account('nb-alice');
    const code = `import os, grp, pwd
open(os.path.expanduser('~/from-notebook'), 'w').write('hello')
print(pwd.getpwuid(os.getuid()).pw_name, os.getuid(), os.getgid(), os.getcwd(), os.environ['BERTH_PROFILE'])
print(' '.join(sorted(grp.getgrgid(gid).gr_name for gid in os.getgroups())))`;
    const [identity, inGroups] = (await alice.runCell(code)).split('\n');
    expect(identity).toBe(`nb-alice ${uid} ${gid} ${home} base`);

    const file = join(login.host.sharedDirectory, 'homes/nb-alice/from-notebook');
    expect((await stat(file)).uid).toBe(uid);
    const read = await login.host.ssh('nb-alice', ['cat from-notebook; echo; id -nG']);
    const [content, bySsh = ''] = read.stdout.toString().split('\n');
    expect(content).toBe('hello');
    expect(bySsh.split(' ').sort().join(' ')).toBe(inGroups);
  });

  it('has the limits of its profile', async () => {
    const [pod] = await pods('nb-alice');
    expect(pod?.spec).toMatchObject({
      automountServiceAccountToken: false,
      restartPolicy: 'Never',
      containers: [
        {
          resources: { limits: { cpu: '500m', memory: String(512 * 1024 ** 2) } },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    });
  });

  it('starts while the portal makes the same namespace', async () => {
    bob = await hub.login('nb-bob', ldapPassword);
    const [, ...hooks] = await Promise.all([
      started(bob, { profile: 'base' }),
      ...[1, 2, 3].map(() => login.portal.prePun('nb-bob')),
    ]);
    // Without tokens there are no credentials.
    const faults = hooks.flatMap(({ stderr }) =>
      stderr.split('\n').filter((line) => line.includes('level=error')),
    );
    expect(faults.filter((line) => !line.includes('code=token-missing'))).toEqual([]);
    expect(await bob.runCell('print(6 * 7)')).toBe('42\n');
  });

  it('is closed to others: by name, by token, by the proxy, and from their own pods', async () => {
    const { uid } = login.host.account('nb-alice');
    for (const [method, path] of [
      ['GET', '/hub/api/users/nb-alice'],
      ['POST', '/hub/api/users/nb-alice/server'],
      ['DELETE', '/hub/api/users/nb-alice/server'],
      ['POST', '/hub/api/users/nb-alice/tokens'],
      ['GET', '/user/nb-alice/api/contents'],
      ['GET', '/user/nb-alice/files/from-notebook'],
      ['GET', '/user/nb-bob/..%2Fnb-alice/api/contents'],
    ] as const) {
      const { status, text } = await bob.request(method, path);
      expect([path, status > 299, text.includes('hello')]).toEqual([path, true, false]);
    }
    const [pod] = await pods('nb-alice');
    const { podIP } = pod?.status as { podIP: string };
    const code = `import os, urllib.request, urllib.error
request = urllib.request.Request('http://${podIP}:8888/user/nb-alice/api/contents', headers={'Authorization': 'token ' + os.environ['JUPYTERHUB_API_TOKEN']})
try: print(urllib.request.urlopen(request, timeout=10).status)
except urllib.error.HTTPError as error: print(error.code)
print(os.getuid() == ${uid})`;
    expect(await bob.runCell(code)).toBe('403\nFalse\n');
  });

  it('has no profile of a group that its user is not in, even if the form is posted by hand', async () => {
    await bob.stopServer();
    const form = await bob.page('/hub/spawn');
    expect(form).toContain('value="base"');
    expect(form).not.toContain('gpu');
    await expect(bob.startServer({ profile: 'gpu' })).rejects.toThrow();
    await expect(bob.startServer({ profile: ['gpu'] })).rejects.toThrow();
    expect(await pods('nb-bob')).toEqual([]);
    expect(await alice.page('/hub/spawn/nb-alice/second')).toContain('value="gpu"');
  });

  it('is not started for somebody for whom no profile is', async () => {
    const dora = await hub.login('nb-dora', ldapPassword);
    for (const options of [{}, { profile: 'base' }])
      await expect(dora.startServer(options)).rejects.toThrow();
    expect(await dora.page('/hub/spawn')).toContain('hub-no-profile');
    expect(await pods('nb-dora')).toEqual([]);
  });

  it('has others beside it, each with a name and a profile', async () => {
    await started(alice, { profile: 'gpu' }, 'second');
    expect(await alice.runCell("import os; print(os.environ['BERTH_PROFILE'])", 'second')).toBe(
      'gpu\n',
    );
    const both = await pods('nb-alice');
    expect(both.map(({ metadata }) => metadata.labels?.['berth.dev/profile']).sort()).toEqual([
      'base',
      'gpu',
    ]);
    expect(
      both.map(({ spec }) => (spec as Record<string, unknown>).activeDeadlineSeconds),
    ).toContain(7200);
    await alice.stopServer('second');
  });

  it('goes on while another hub starts and stops one for the same user', async () => {
    const before = (await pods('nb-alice')).map(({ metadata }) => metadata.uid);
    const other = await startHub(await Hub.makeDirectory());
    try {
      const there = await other.login('nb-alice', ldapPassword);
      await started(there, { profile: 'base' });
      expect(await there.runCell('print(6 * 7)')).toBe('42\n');
      expect(await pods('nb-alice')).toHaveLength(2);
      expect(await alice.runCell('print(6 * 7)')).toBe('42\n');
      await there.stopServer();
    } finally {
      await other.stop();
    }
    expect((await pods('nb-alice')).map(({ metadata }) => metadata.uid)).toEqual(before);
  });

  it('says why it cannot start, long before the limit', async () => {
    await expect(alice.startServer({ profile: 'absent' }, 'absent')).rejects.toThrow();
    const page = await alice.page('/hub/spawn-pending/nb-alice/absent');
    expect(page).toMatch(/your server could not start: ErrImageNeverPull: .*\[hub-pod-failed\]/);
    expect(await hub.log()).not.toContain('unhandled user_options');
    expect(await pods('nb-alice')).toHaveLength(1);
  });

  it('goes on while the hub is restarted with the token that the page has made and renewed', async () => {
    const before = (await pods('nb-alice')).map(({ metadata }) => metadata.uid);
    await hub.stopHub();
    await writeFile(kubeconfig, await renewedKubeconfig(site, login.portal));
    await hub.startHub();
    expect((await alice.servers())['']?.ready).toBe(true);
    expect(await alice.runCell('print(6 * 7)')).toBe('42\n');
    expect((await pods('nb-alice')).map(({ metadata }) => metadata.uid)).toEqual(before);
  });

  it('is let in by the admission policies, or refused with their words', async () => {
    const { images, ...others } = siteParameters;
    const policies = await AdmissionSite.install(site, {
      ...others,
      images: [...images, 'localhost'],
      hostPaths: [`${login.host.sharedDirectory}/homes/{user}`, await hubEnvironment()].map(
        (path) => ({
          ...{ path, readOnly: false },
        }),
      ),
    });
    const label = Object.values(policies.settings.label).join('=');
    try {
      await cluster.kubectl(['label', 'namespace', 'u-nb-alice', label]);
      await expect(alice.startServer({ profile: 'base' }, 'long')).rejects.toThrow();
      const log = await hub.log();
      expect(log).toMatch(
        /activeDeadlineSeconds must be at most 24h\. Ask hpc-help@example\.org\. \[hub-pod-refused\]/,
      );
      // With the pod, KubeSpawner would log its environment.
      expect(log).not.toContain('JUPYTERHUB_API_TOKEN');
      await started(alice, { profile: 'gpu' }, 'short');
      expect(await alice.runCell('print(6 * 7)', 'short')).toBe('42\n');
      await alice.stopServer('short');
    } finally {
      await cluster.kubectl(['label', 'namespace', 'u-nb-alice', label.replace(/=.*/, '-')]);
      await policies.remove();
    }
  });

  it('ends when it has been idle as long as its profile says', async () => {
    await waitFor({ what: 'the idle server to end', timeoutMs: 120_000 }, async () =>
      (await hub.adminFor('nb-cara').servers())[''] === undefined ? true : undefined,
    );
    expect(await pods('nb-cara')).toEqual([]);
  });
});
