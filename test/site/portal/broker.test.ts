import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClusterSettings, OidcSettings } from '../../../src/config/schema/settings.ts';
import { brokerSocket } from '../../../src/credentials/broker-protocol.ts';
import { credentialCachePath } from '../../../src/credentials/credential-cache.ts';
import { openIssuer } from '../../../src/credentials/oidc/issuer.ts';
import { loadSiteSettings } from '../../../src/config/load/load-site-settings.ts';
import type { CredentialFiles } from '../../../src/credentials/credential-files.ts';
import { storedCredentialPath } from '../../../src/credentials/root-credential-store.ts';
import { clusterCredential } from '../../../src/credentials/cluster-credential.ts';
import type { User } from '../../../src/system/identity/nss.ts';
import { httpsRequest } from '../../../src/system/https-request.ts';
import { askBroker } from '../../rig/broker/ask-broker.ts';
import { BrokerHost } from '../../rig/broker/broker-host.ts';
import { compileEntryPoint } from '../../rig/compile-entry-point.ts';
import {
  clientSecret,
  confidentialClient,
  LocalOidcProvider,
} from '../../rig/local-oidc-provider.ts';

let provider: LocalOidcProvider;
let directory: string;
let plugin: string;
let stateDir: string;
let cluster: ClusterSettings;
let host: BrokerHost;

const account = (uid: number): User => ({
  name: 'ann',
  uid,
  gid: uid,
  groups: [uid],
  home: join(directory, String(uid)),
  shell: '/bin/sh',
});
const limits = { now: () => Date.now() / 1000, timeoutMs: 2_000 };
const ann = () => account(61_001);
const bob = () => account(61_002);

beforeAll(async () => {
  if (!BrokerHost.isSupported) return;
  provider = await LocalOidcProvider.start();
  directory = await mkdtemp(join(tmpdir(), 'berth-broker-'));
  await chmod(directory, 0o711);
  stateDir = join(directory, 'state');
  plugin = await compileEntryPoint('shell/kube-credential.ts', directory);
  const broker = await compileEntryPoint('hooks/credential-broker.ts', directory);
  const config = await configure();
  const { settings } = await loadSiteSettings({ configFile: config }, { cache: 'off' });
  cluster = settings.clusters[0] as never;

  for (const { uid, home } of [ann(), bob()]) {
    await mkdir(home, { mode: 0o700 });
    await chown(home, uid, uid);
  }
  const users = { [ann().uid]: 'ann', [bob().uid]: 'bob' };
  host = await BrokerHost.boot({ command: [broker], config, stateDir, users });
  for (const { uid } of [ann(), bob()]) await host.startSocket(uid);
});

afterAll(async () => {
  if (!BrokerHost.isSupported) return;
  await host.stop();
  await provider.stop();
  await rm(directory, { recursive: true });
});

/** A site with one cluster, whose credential is an ID token of OnDemand's confidential client. */
async function configure(): Promise<string> {
  const clusters = join(directory, 'clusters.d');
  await mkdir(clusters);
  await writeFile(
    join(clusters, 'test.yml'),
    `v2:\n  metadata: {title: Test}\n  job:\n    adapter: kubernetes\n    bin: /usr/bin/kubectl\n    cluster: test\n    context: test\n    config_file: ~/.kube/config\n    server: {endpoint: 'https://k8s.example.org:6443'}\n    auth: {type: oidc}\n`,
  );
  await writeFile(join(directory, 'secret'), clientSecret, { mode: 0o600 });
  const file = join(directory, 'berth.yml');
  await writeFile(
    file,
    `state_dir: ${stateDir}\nhook_env: null\nclusters_dir: ${clusters}\ndefaults:\n  credentials:\n    issuer: ${provider.issuer}\n    ca_file: ${provider.caFile}\n    client_id: ${confidentialClient}\n    client_secret_file: ${join(directory, 'secret')}\n`,
  );
  return file;
}

/** Writes the credential as the hook does. */
async function login(user: User, change: Partial<OidcSettings> = {}): Promise<CredentialFiles> {
  const { idToken, refreshToken } = await provider.login('ann', confidentialClient);
  const credentials = { ...cluster.credentials, ...change } as OidcSettings;
  return await clusterCredential(
    user,
    { ...cluster, credentials },
    { idToken, refreshToken },
    {
      stateDir,
      kubeCredentialCommand: plugin,
      https: httpsRequest,
      issuer: ({ issuer }) =>
        openIssuer({ issuer, stateDir, ca: provider.ca }, { https: httpsRequest, ...limits }),
      readCa: () => provider.ca,
      ...limits,
      lockWaitMs: 2_000,
      mintToken: () => Promise.reject(new Error('not a ServiceAccount')),
    },
  );
}

/** Makes both copies of the token expired. */
async function expire(user: User): Promise<void> {
  const cache = join(user.home, credentialCachePath(cluster.server.endpoint));
  for (const file of [cache, storedCredentialPath(stateDir, user.uid, cluster.name)]) {
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace(/"expiry":\d+/, '"expiry":1000'));
  }
}

/** Runs the plugin as the user's kubectl does. */
function kubectl(
  user: User,
  home = user.home,
): Promise<{ status: number; stdout: string; stderr: string }> {
  const spec = { cluster: { server: cluster.server.endpoint }, interactive: false };
  const apiVersion = 'client.authentication.k8s.io/v1';
  const KUBERNETES_EXEC_INFO = JSON.stringify({ kind: 'ExecCredential', apiVersion, spec });
  return new Promise((resolve) => {
    const env = { HOME: home, KUBERNETES_EXEC_INFO };
    const [file = '', ...words] = host.enterAs(user.uid, [plugin]);
    const child = execFile(file, words, { env }, (_, stdout, stderr) =>
      resolve({ status: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

const say = (uid: number, text: string | Buffer, end = true) => askBroker(host, uid, text, end);

describe.skipIf(!BrokerHost.isSupported)('a confidential client', () => {
  beforeEach(() => {
    provider.requests.length = 0;
  });

  it("leaves neither the client's secret nor a refresh token in the user's home", async () => {
    const prepared = await login(ann());
    expect(prepared).toMatchObject({ needsBroker: true, warnings: [] });
    const file = join(ann().home, credentialCachePath(cluster.server.endpoint));
    const text = await readFile(file, 'utf8');
    expect(JSON.parse(text)).toMatchObject({
      refresh: { by: 'broker', socket: '/run/berth/broker/61001.sock' },
    });
    const { refreshToken } = prepared.rootStore ?? {};
    expect(refreshToken).toMatch(/./);
    for (const secret of [clientSecret, String(refreshToken)]) {
      expect(text + JSON.stringify(prepared.kubeconfigUser)).not.toContain(secret);
    }
    const status = await stat(file);
    expect([status.uid, status.gid, status.mode & 0o777]).toEqual([61_001, 61_001, 0o600]);
    const store = await stat(storedCredentialPath(stateDir, 61_001, cluster.name));
    expect([store.uid, store.mode & 0o777]).toEqual([0, 0o600]);
  });

  it('has its token renewed by root, with one request for twenty kubectl', async () => {
    await login(ann());
    await expire(ann());
    provider.requests.length = 0;
    const runs = await Promise.all(Array.from({ length: 20 }, () => kubectl(ann())));
    for (const { status, stderr } of runs)
      expect({ status, stderr }, host.log).toEqual({ status: 0, stderr: '' });
    expect(new Set(runs.map((run) => run.stdout)).size).toBe(1);
    expect(provider.requests).toEqual(['POST /token']);
  });

  it('has its token renewed once, too, if all permitted connections ask for it', async () => {
    await login(ann());
    await expire(ann());
    provider.requests.length = 0;
    const request = `${JSON.stringify({ cluster: cluster.name })}\n`;
    const answers = await Promise.all(Array.from({ length: 8 }, () => say(61_001, request)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(Object.keys(answers[0] ?? {})).toEqual(['token', 'expiry']);
    expect(provider.requests).toEqual(['POST /token']);
  });

  it('is served in the end if more kubectl ask than may connect at once', async () => {
    await login(ann());
    await expire(ann());
    const homes = Array.from({ length: 20 }, (_, number) => join(ann().home, `home${number}`));
    for (const home of homes) {
      await mkdir(home);
      await promisify(execFile)('cp', ['-a', join(ann().home, '.kube'), home]);
      await chown(home, 61_001, 61_001);
    }
    provider.requests.length = 0;
    const runs = await Promise.all(homes.map((home) => kubectl(ann(), home)));
    for (const { status, stderr } of runs)
      expect({ status, stderr }, host.log).toEqual({ status: 0, stderr: '' });
    expect(provider.requests).toEqual(['POST /token']);
  });

  it('has its token renewed repeatedly, and each refresh token is used once', async () => {
    await login(ann());
    for (let round = 0; round < 3; round += 1) {
      await expire(ann());
      expect(await kubectl(ann())).toMatchObject({ status: 0 });
    }
  });

  it('gives a user only that user’s token', async () => {
    await login(ann());
    await expire(ann());
    // Bob with a file that names Ann's socket.
    const socket = brokerSocket(61_001);
    const file = join(bob().home, credentialCachePath(cluster.server.endpoint));
    const { endpoint: server } = cluster.server;
    const cache = { version: 1, cluster: cluster.name, server, token: 'x', expiry: 1 };
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, JSON.stringify({ ...cache, refresh: { by: 'broker', socket } }), {
      mode: 0o600,
    });
    for (const path of [
      '.kube',
      '.kube/cache',
      '.kube/cache/berth',
      credentialCachePath(cluster.server.endpoint),
    ]) {
      await chown(join(bob().home, path), 61_002, 61_002);
    }
    const foreign = await kubectl(bob());
    expect(foreign).toMatchObject({ status: 77, stdout: '' });
    expect(foreign.stderr).toContain('[broker-unreachable]');
    expect(foreign.stderr).toContain('belongs to another user');

    // Through his own socket Bob gets no token of Ann's.
    expect(await say(61_002, `{"cluster":"${cluster.name}"}\n`)).toMatchObject({
      error: { code: 'credential-missing' },
    });
  });

  it.each<[string, string | Buffer, string]>([
    ['nothing', '', 'broker-request-invalid'],
    ['half a line', '{"cluster":"te', 'broker-request-invalid'],
    ['an empty line', '\n', 'broker-request-invalid'],
    ['no JSON', 'GET / HTTP/1.1\r\n\r\n', 'broker-request-invalid'],
    ['null', 'null\n', 'broker-request-invalid'],
    ['a number for a name', '{"cluster":1}\n', 'broker-request-invalid'],
    ['a path', '{"cluster":"../61002/test"}\n', 'cluster-name-invalid'],
    ['a NUL', '{"cluster":"test\\u0000"}\n', 'cluster-name-invalid'],
    ['a cluster without a login', '{"cluster":"other"}\n', 'credential-missing'],
    ['more than a line', Buffer.alloc(5_000, 'a'), 'broker-request-invalid'],
    ['random bytes', Buffer.from([0xff, 0xfe, 0x00, 0x0a]), 'broker-request-invalid'],
  ])('answers %s with an error', async (_, text, code) => {
    expect(await say(61_001, text)).toMatchObject({ error: { code } });
  });

  it('does not wait for ever for a client that sends nothing', async () => {
    const began = performance.now();
    expect(await say(61_001, '{', false)).toMatchObject({ error: { code: 'broker-no-request' } });
    expect(performance.now() - began).toBeLessThan(9_000);
  }, 15_000);

  it('reports an error in the site’s configuration, not that the broker is busy', async () => {
    const file = join(directory, 'berth.yml');
    const text = await readFile(file, 'utf8');
    await writeFile(file, `${text}nonsense: true\n`);
    const answer = await say(61_001, '{"cluster":"test"}\n');
    await writeFile(file, text);
    expect(answer).toMatchObject({
      error: { exit: 'config', message: expect.stringContaining('nonsense') as string },
    });
  });

  it('is not renewed at another issuer', async () => {
    await login(ann());
    await expire(ann());
    const file = join(directory, 'berth.yml');
    const text = await readFile(file, 'utf8');
    const other = await LocalOidcProvider.start();
    const changed = text.replace(provider.issuer, other.issuer);
    await writeFile(file, changed.replace(provider.caFile, other.caFile));
    const refused = await kubectl(ann());
    await writeFile(file, text);
    expect(refused.status, refused.stderr).toBe(77);
    expect(refused.stderr).toContain('[credential-of-other-issuer]');
    expect(other.requests).toEqual([]);
    await other.stop();

    // The refresh token has not been used: with the right issuer it still works.
    await expire(ann());
    expect(await kubectl(ann())).toMatchObject({ status: 0, stderr: '' });
  });

  it('reports the end of the session in one line, without secrets', async () => {
    await login(ann());
    await expire(ann());
    provider.intercept = () => ({
      status: 400,
      body: JSON.stringify({ error: 'invalid_grant', error_description: clientSecret }),
    });
    const { status, stderr } = await kubectl(ann());
    provider.intercept = undefined;
    expect(status, stderr).toBe(77);
    expect(stderr).toContain('[refresh-token-refused]');
    expect(stderr).not.toContain(clientSecret);
  });
});
