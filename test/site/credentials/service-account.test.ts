import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storedCredentialPath } from '../../../src/credentials/root-credential-store.ts';
import { errorLines } from '../../rig/log-lines.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { installDirectory, Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { BrokerHost } from '../../rig/broker/broker-host.ts';
import { expireCredential, modeAndOwner, UserKubectl } from '../../rig/site/user-kubectl.ts';

/** What this mode needs beside `kubectl apply -k etc/kubernetes`. */
const optIn = new URL('../../../etc/kubernetes/service-account-tokens', import.meta.url).pathname;

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;
let sam: TestUser;
let kubectl: UserKubectl;
let host: BrokerHost;

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  portal = await Portal.make(site, {
    clusters: { prod: { auth: { type: 'managed' } } },
    berth: { defaults: { credentials: { mode: 'service-account', lifetime: '1h' } } },
  });
  await site.kubectl(['apply', '-k', optIn]);
  sam = await newcomers.create('md-sam');
  kubectl = new UserKubectl(site, sam);
  host = await BrokerHost.boot({
    command: [join(installDirectory, 'hooks/credential-broker')],
    config: portal.files.berth,
    stateDir: portal.files.stateDir,
  });
  portal.wrapArgv = (argv) => host.enter(argv);
  kubectl.host = host;
});

afterAll(async () => {
  await host.stop();
  await site.kubectl(['delete', '-k', optIn]);
  await newcomers.removeNamespaces();
  await portal.remove();
});

/** ID of the first login. */
let session: string;

const self = 'system:serviceaccount:u-md-sam:berth-user';

describe('a site without an identity provider gives the user a ServiceAccount', () => {
  it('with the first login, which makes namespace, account and token', async () => {
    const { exitCode, stderr } = await portal.prePun(sam.name);

    expect(exitCode, stderr).toBe(0);
    expect(stderr).not.toMatch(/level=(warning|error)/);
    [session = ''] = /(?<=session=)\S+/.exec(stderr) ?? [];
    expect(await kubectl.whoami()).toBe(self);
  });

  it('whose token the API server ends, and no secret keeps', async () => {
    const { expiry } = await kubectl.cache();
    const left = expiry - Date.now() / 1000;
    expect(left).toBeGreaterThan(3500);
    expect(left).toBeLessThan(3601);
    const live = await cluster.dump(sam.namespace);
    const types = live.filter(({ kind }) => kind === 'Secret').map(({ type }) => type);
    expect(types).not.toContain('kubernetes.io/service-account-token');
  });

  it('whose files are the user’s alone', async () => {
    expect(await modeAndOwner(kubectl.kubeconfigFile)).toBe(`0600 ${sam.uid}`);
    expect(await modeAndOwner(kubectl.cacheFile())).toBe(`0600 ${sam.uid}`);
    expect(await readFile(kubectl.kubeconfigFile, 'utf8')).not.toContain('eyJ');
  });

  it('that may what ood-user may, in the own namespace', async () => {
    const made = await kubectl.run('create', 'configmap', 'mine', '--from-literal=a=b');
    expect(made).toMatchObject({ exitCode: 0, stdout: 'configmap/mine created' });
    expect(await kubectl.run('delete', 'configmap', 'mine')).toMatchObject({ exitCode: 0 });
  });

  it.each([
    ['look into another namespace', ['get', 'pods', '-n', 'kube-system']],
    ['see which namespaces there are', ['get', 'namespaces']],
    ['say to be another owner', ['annotate', 'ns', 'u-md-sam', 'openondemand.org/owner=x']],
    ['open the namespace to others', ['delete', 'networkpolicy', '--all']],
    ['give rights away', ['create', 'rolebinding', 'x', '--clusterrole=ood-user', '--user=bob']],
    ['take a longer token', ['create', 'token', 'berth-user', '--duration=9000h']],
    ['take a token of the hook', ['create', 'token', 'berth-hook', '-n', 'ondemand']],
    ['be somebody else', ['get', 'pods', '--as=oidc:alice']],
  ])('that cannot %s', async (_what, args) => {
    const { exitCode, stderr } = await kubectl.run(...args);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/forbidden/i);
  });

  it('that the broker renews, when its token has ended', async () => {
    const before = await kubectl.cache();
    await kubectl.expireToken();
    await expireCredential(storedCredentialPath(portal.files.stateDir, sam.uid, 'prod'));

    expect(await kubectl.whoami()).toBe(self);

    const after = await kubectl.cache();
    expect(after.token).not.toBe(before.token);
    expect(after.expiry).toBeGreaterThan(Date.now() / 1000 + 3500);
    const named = `session=${session} uid=${sam.uid} cluster=prod`;
    expect(host.log).toContain(`level=info msg="credential handed out" ${named}`);
  });

  it('that the next login makes anew, where somebody deleted it', async () => {
    await cluster.delete('serviceaccount', 'berth-user', sam.namespace);
    const { token } = await kubectl.cache();

    const { stderr } = await portal.prePun(sam.name);

    expect(stderr).toContain('repaired="ServiceAccount u-md-sam/berth-user"');
    // The token of the old account is dead, though the API server may not see that for seconds.
    expect((await kubectl.cache()).token).not.toBe(token);
    expect(await kubectl.whoami()).toBe(self);
  });
});

describe('where two names mean one namespace', () => {
  it('the second gets no token of the first', async () => {
    const [first, second] = (await newcomers.createAll(['md-t.o', 'md-t-o'])) as [
      TestUser,
      TestUser,
    ];
    expect((await portal.prePun(first.name)).exitCode).toBe(0);

    const login = await portal.prePun(second.name);

    expect(login.exitCode).toBe(77);
    expect(new Set(errorLines(login.stderr).map(({ code }) => code))).toEqual(
      new Set(['namespace-owned-by-another-user']),
    );
    await expect(new UserKubectl(site, second).cache()).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('the broker gives none either, once the namespace is another user’s', async () => {
    await cluster.patch('namespace', sam.namespace, '', {
      metadata: { annotations: { 'openondemand.org/owner': 'md.sam' } },
    });
    await kubectl.expireToken();
    await expireCredential(storedCredentialPath(portal.files.stateDir, sam.uid, 'prod'));

    expect(await kubectl.whoami()).toContain('[namespace-owned-by-another-user]');
  });
});
