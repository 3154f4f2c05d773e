import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { brokerSocket } from '../../../src/credentials/broker-protocol.ts';
import { storedCredentialPath } from '../../../src/credentials/root-credential-store.ts';
import { warningCodes } from '../../rig/log-lines.ts';
import { commandAs } from '../../rig/site/accounts.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { ensureCommand } from '../../rig/site/debian-packages.ts';
import { installDirectory, Portal, type PortalTokens } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { BrokerHost } from '../../rig/broker/broker-host.ts';
import { expireCredential, modeAndOwner, UserKubectl } from '../../rig/site/user-kubectl.ts';

let site: Site;
let newcomers: TestUsers;
let portal: Portal;
let cara: TestUser;
let kubectl: UserKubectl;
let tokens: PortalTokens;
let host: BrokerHost | undefined;
let store: string;
/** Seconds since the epoch. */
let began: number;
/** Values that the user must never be able to read. */
const secrets = new Set<string>();
/** Files of strace with each program that was started, and its arguments. */
let started: { readonly hook: string; readonly broker: string; readonly user: string };

beforeAll(async () => {
  site = await openSite();
  await ensureCommand('strace', 'strace');
  newcomers = new TestUsers(new LiveCluster(site));
  portal = await Portal.make(site);
  await portal.useExchange();
  secrets.add(site.keycloak.client('ondemand').secret ?? '');
  cara = await newcomers.create('md-cara');
  await site.keycloak.addUser(cara.name);
  kubectl = new UserKubectl(site, cara);
  store = storedCredentialPath(portal.files.stateDir, cara.uid, 'prod');
  started = {
    hook: join(portal.directory, 'hook.strace'),
    broker: join(portal.directory, 'broker.strace'),
    user: join(cara.home, 'kubectl.strace'),
  };
});

afterAll(async () => {
  await host?.stop();
  await newcomers.removeNamespaces();
  await portal.remove();
});

const traced = (file: string, ...more: readonly string[]): string[] => [
  ...['strace', '-f', '-A', '-e', 'trace=execve', '-s', '1000000', '-o', file, ...more],
];

/** Runs the hook as nginx_stage does; strace writes each execve into a file. */
async function tracedLogin(): Promise<{ exitCode?: number; stderr: string }> {
  began = Math.floor(Date.now() / 1000);
  tokens = await site.keycloak.login(cara.name);
  secrets.add(String(tokens.refreshToken));
  const [strace = '', ...words] = traced(started.hook);
  const hook = join(installDirectory, 'hooks/pre-pun');
  return execa(strace, [...words, hook, '--user', cara.name, '--config', portal.files.berth], {
    reject: false,
    extendEnv: false,
    env: portal.environment(tokens),
    cwd: '/',
    input: '',
  });
}

/** Without the unit's filter of system calls, which strace needs. */
function boot(): Promise<BrokerHost> {
  return BrokerHost.boot({
    command: traced(started.broker, join(installDirectory, 'hooks/credential-broker')),
    config: portal.files.berth,
    stateDir: portal.files.stateDir,
    service: [`ReadWritePaths=${portal.directory}`, 'SystemCallFilter='],
  });
}

async function endEverywhere(): Promise<void> {
  await kubectl.expireToken();
  await expireCredential(store);
}

async function rememberRefreshToken(): Promise<void> {
  const { refreshToken } = JSON.parse(await readFile(store, 'utf8')) as { refreshToken: string };
  secrets.add(refreshToken);
}

describe("with OnDemand's confidential client", () => {
  it('the portal’s token is exchanged for one that the cluster accepts', async () => {
    const { exitCode, stderr } = await tracedLogin();

    expect(exitCode, stderr).toBe(0);
    expect(await kubectl.whoami()).toBe('oidc:md-cara');
    expect((await kubectl.cache()).token).not.toBe(tokens.accessToken);
    expect(await modeAndOwner(store)).toBe('0600 0');
    await rememberRefreshToken();
  });

  it('the hook warns that there is no broker when systemd does not run', async ({ skip }) => {
    skip(await isBooted(), 'systemd runs here and would start the broker');
    const { stderr } = await portal.prePun(cara.name, tokens);
    expect(warningCodes(stderr)).toContain('broker-no-systemd');
  });

  it('the broker renews kubectl’s token, also after a new start of nginx', async () => {
    host = await boot();
    await host.startSocket(cara.uid);
    kubectl.host = host;
    portal.wrapArgv = (argv) => host?.enter(argv) ?? argv;
    for (let start = 0; start < 2; start += 1) {
      const { token } = await kubectl.cache();
      await endEverywhere();
      const whoami = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'];
      const line = traced(started.user, '-v');

      expect(await kubectl.runUnder(line, ...whoami)).toMatchObject({ stdout: 'oidc:md-cara' });

      expect((await kubectl.cache()).token).not.toBe(token);
      await rememberRefreshToken();
      expect(warningCodes((await portal.prePun(cara.name, tokens)).stderr)).toEqual([]);
    }
    // The portal's, and one for each renewal: each can be used once.
    expect(secrets.size).toBe(4);
  });

  it('twenty kubectl at once use one refresh token', async () => {
    await endEverywhere();
    const names = await Promise.all(Array.from({ length: 20 }, () => kubectl.whoami()));
    expect(new Set(names)).toEqual(new Set(['oidc:md-cara']));
    await rememberRefreshToken();
    expect(secrets.size).toBe(5);
  });
});

describe('the client’s secret and the refresh tokens', () => {
  it('are in no file written since the login that the user can read', async () => {
    const files = await readableFiles();
    expect(files).toContain(kubectl.cacheFile());
    expect(files).toContain(kubectl.kubeconfigFile);
    for (const file of files) expect(await secretsIn(file), file).toEqual([]);
    // The same search finds a token that the user may read.
    secrets.add((await kubectl.cache()).token);
    expect(await secretsIn(kubectl.cacheFile())).toHaveLength(1);
    secrets.delete((await kubectl.cache()).token);
  });

  it('are in no argv of any program, and in no environment of the user’s programs', async () => {
    const { hook, broker: ofBroker, user } = started;
    expect(await readFile(hook, 'utf8')).toContain('hooks/pre-pun');
    expect(await readFile(ofBroker, 'utf8')).toContain('hooks/credential-broker');
    // With -v, strace writes the environment, too.
    expect(await readFile(user, 'utf8')).toMatch(/shell\/kube-credential.*KUBERNETES_EXEC_INFO/);
    for (const file of [hook, ofBroker, user]) expect(await secretsIn(file), file).toEqual([]);
  });

  it('are not in the broker’s answer to the user', async () => {
    const ask = `const s = require('node:net').connect('${brokerSocket(cara.uid)}');
      s.pipe(process.stdout); s.write('{"cluster":"prod"}\\n');`;
    const { command, args } = commandAs(cara.name, join(installDirectory, 'node'), ['-e', ask]);
    const [file = '', ...words] = host?.enter([command, ...args]) ?? [];
    const { stdout } = await execa(file, words, { cwd: '/' });
    expect(Object.keys(JSON.parse(stdout) as object)).toEqual(['token', 'expiry']);
    for (const secret of secrets) expect(stdout).not.toContain(secret);
  });

  it('are in root’s files, which the user cannot read', async () => {
    for (const file of [store, join(portal.directory, 'client-secret'), portal.files.stateDir]) {
      const { command, args } = commandAs(cara.name, 'cat', [file]);
      const { stderr } = await execa(command, args, { reject: false, cwd: '/' });
      expect(stderr).toContain('Permission denied');
    }
  });
});

/** Files written since the login that the user can read, in all places where programs write. */
async function readableFiles(): Promise<string[]> {
  const directories = [cara.home, '/dev/shm', '/etc', '/run', '/tmp', '/var'];
  const { command, args } = commandAs(cara.name, 'find', [
    ...[...directories, '-xdev', '-type', 'f', '-newermt', `@${began}`, '-readable'],
    // The test runner stores the tests there, which contain the realm's secret.
    ...['-not', '-path', '/tmp/*/ssr/*', '-not', '-path', '/tmp/tsx-*', '-print0'],
  ]);
  const { stdout } = await execa(command, args, { reject: false, cwd: '/' });
  return stdout.split('\0').filter((file) => file !== '');
}

async function secretsIn(file: string): Promise<string[]> {
  // A file that was removed meanwhile cannot be read; any other error is a fault of this search.
  const text = await readFile(file, 'latin1').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  });
  return [...secrets].filter((secret) => text.includes(secret));
}

async function isBooted(): Promise<boolean> {
  const { exitCode } = await execa('test', ['-d', '/run/systemd/system'], { reject: false });
  return exitCode === 0;
}
