import { chmod, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { ensureAccount } from '../../rig/site/accounts.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { findCheck, runDoctor } from '../../rig/site/doctor-report.ts';

/** An HTTP proxy for CONNECT (RFC 9110, 9.3.6) that keeps a list of the targets. */
class ConnectProxy {
  readonly targets: string[] = [];
  readonly #server: Server = createServer();

  static async open(): Promise<ConnectProxy> {
    const proxy = new ConnectProxy();
    proxy.#server.on('connect', ({ url = '' }, client) => {
      proxy.targets.push(url);
      const { hostname, port } = new URL(`https://${url}`);
      const target = connect(Number(port), hostname, () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n');
        target.pipe(client).pipe(target);
      });
      for (const socket of [target, client]) socket.on('error', () => client.destroy());
    });
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
  }
}

let site: Site;
let portal: Portal;
let proxy: ConnectProxy;
let token: string;

beforeAll(async () => {
  site = await openSite();
  portal = await Portal.make(site);
  proxy = await ConnectProxy.open();
  token = (await site.kubectl('-n ondemand create token berth-hook'.split(' '))).stdout.trim();
});
afterEach(() => proxy.targets.splice(0));
afterAll(async () => {
  proxy.close();
  await portal.remove();
});

/** A kubeconfig that proves the hook's ServiceAccount to the API server, `more` over a plain one. */
async function kubeconfig(
  path: string,
  more: { readonly cluster?: object; readonly user?: object },
): Promise<string> {
  const text = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'c',
        cluster: { server: site.server, 'certificate-authority': site.ca.file, ...more.cluster },
      },
    ],
    users: [{ name: 'admin', user: more.user ?? { token } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'admin' } }],
    'current-context': 'c',
  });
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

/** A credential plugin as a script: what it prints, after a look at what a plugin is promised. */
async function plugin(name: string, body: string): Promise<object> {
  await writeFile(join(portal.directory, name), `#!/bin/sh\n${body}\n`);
  await chmod(join(portal.directory, name), 0o755);
  return {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: `./${name}`,
    args: ['get-token'],
    env: [{ name: 'TOKEN_OF_TEST', value: token }],
    interactiveMode: 'Never',
  };
}

const tokenPlugin = `
[ "$1" = get-token ] || exit 3
case $KUBERNETES_EXEC_INFO in *'"kind":"ExecCredential"'*'"interactive":false'*) ;; *) echo "no KUBERNETES_EXEC_INFO" >&2; exit 4 ;; esac
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$TOKEN_OF_TEST"`;

const withPlugin = async (): Promise<string> =>
  kubeconfig(portal.files.kubeconfig, { user: { exec: await plugin('plugin', tokenPlugin) } });
const withProxy = (): Promise<string> =>
  kubeconfig(portal.files.kubeconfig, { cluster: { 'proxy-url': proxy.url } });

describe('a kubeconfig with an exec plugin', () => {
  it('is one that kubectl can use', async () => {
    const file = await withPlugin();
    const { stdout, stderr } = await site.kubectl(['auth', 'whoami'], { kubeconfig: file });
    expect({ stdout, stderr }).toMatchObject({
      stdout: expect.stringContaining('berth-hook') as string,
    });
  });

  it('gives the hook its first token with berth token setup', async () => {
    const from = join(portal.directory, 'admin.kubeconfig');
    await kubeconfig(from, { user: { exec: await plugin('plugin', tokenPlugin) } });
    await writeFile(portal.files.kubeconfig, '', { mode: 0o600 });
    const { exitCode, stderr } = await portal.berth('token', 'setup', '--from', from);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  });

  it('lets berth clusters reap reach the cluster', async () => {
    await withPlugin();
    const { stdout, stderr } = await portal.berth(
      'clusters',
      'reap',
      '--cluster',
      'prod',
      '--dry-run',
    );
    expect(stderr).not.toContain('admin-kubeconfig');
    // The plugin's account has the hook's rights, not the reaper's.
    expect(stdout + stderr).toContain('berth-hook');
  });

  it('is reported by berth doctor as unusable for the hook, and checked all the same', async () => {
    await withPlugin();
    const report = await runDoctor(portal);
    expect(findCheck(report, 'admin-credentials')).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('users[].user.exec') as string,
      next: expect.stringContaining('berth token setup') as string,
    });
    expect(findCheck(report, 'api')).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('system:serviceaccount:ondemand:berth-hook') as string,
    });
    expect(report.exitCode).not.toBe(0);
  });

  it('keeps the hook from the cluster, which loads no plugin at a login', async () => {
    await withPlugin();
    await ensureAccount('alice');
    const { stderr } = await portal.prePun('alice');
    expect(stderr).toContain('admin-kubeconfig-unsupported');
  });

  it.each([
    ['fails', 'echo secret-token >&2; exit 1', 'it exited with an error'],
    ['is missing', undefined, 'not-there'],
    ['prints no credential', 'echo secret-token', 'it printed no ExecCredential'],
    ['hangs', 'sleep 600', 'it did not end before the deadline'],
    ['leaves a process behind', 'setsid sleep 600 & exit 1', 'it did not end before the deadline'],
  ])('says so where the plugin %s', async (_what, body, text) => {
    const exec =
      body === undefined
        ? { apiVersion: 'client.authentication.k8s.io/v1', command: 'not-there' }
        : await plugin('broken', body);
    const from = await kubeconfig(join(portal.directory, 'admin.kubeconfig'), { user: { exec } });
    const started = performance.now();
    const { exitCode, stderr } = await portal.berth(
      ...['token', 'setup', '--from', from, '--timeout', '3s'],
    );
    expect(stderr).toContain('[kubeconfig-plugin-failed]');
    expect(stderr).toContain(text);
    expect(stderr).toContain('\nnext: ');
    expect(stderr).not.toContain('secret-token');
    expect(exitCode).toBe(69);
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it('runs no plugin that another user could have written', async () => {
    const exec = await plugin('loose', tokenPlugin);
    await chmod(join(portal.directory, 'loose'), 0o777);
    const from = await kubeconfig(join(portal.directory, 'admin.kubeconfig'), { user: { exec } });
    const { stderr } = await portal.berth('token', 'setup', '--from', from);
    expect(stderr).toContain('[config-writable-by-others]');
  });
});

describe('a kubeconfig with proxy-url', () => {
  it('gives the hook its first token through the proxy', async () => {
    const from = join(portal.directory, 'admin.kubeconfig');
    await kubeconfig(from, { cluster: { 'proxy-url': proxy.url } });
    await writeFile(portal.files.kubeconfig, '', { mode: 0o600 });
    const { exitCode, stderr } = await portal.berth('token', 'setup', '--from', from);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(proxy.targets).toContain(new URL(site.server).host);
  });

  it('takes berth doctor through the proxy, which says that the hook cannot follow', async () => {
    await withProxy();
    const report = await runDoctor(portal);
    expect(findCheck(report, 'admin-credentials')).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('proxy-url') as string,
    });
    expect(findCheck(report, 'api')).toMatchObject({ status: 'ok' });
    expect(findCheck(report, 'api-certificate')).toMatchObject({ status: 'ok' });
    expect(new Set(proxy.targets)).toEqual(new Set([new URL(site.server).host]));
  });

  it('says that the proxy does not answer', async () => {
    const from = await kubeconfig(join(portal.directory, 'admin.kubeconfig'), {
      cluster: { 'proxy-url': 'http://127.0.0.1:1' },
    });
    const { exitCode, stderr } = await portal.berth('token', 'setup', '--from', from);
    expect(stderr).toContain('[api-unreachable]');
    expect(exitCode).toBe(75);
  });

  it('accepts no other certificate through the proxy', async () => {
    const from = await kubeconfig(join(portal.directory, 'admin.kubeconfig'), {
      cluster: { 'proxy-url': proxy.url, 'tls-server-name': 'other.example.org' },
    });
    const { stderr } = await portal.berth('token', 'setup', '--from', from);
    expect(stderr).toContain('[api-certificate]');
  });
});
