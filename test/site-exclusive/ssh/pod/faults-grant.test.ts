import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { BerthError } from '../../../../src/system/errors/berth-error.ts';
import type { PodGrant } from '../../../../src/sessions/backends/pod/pod-grant-file.ts';
import { apiClient } from '../../../../src/kube/api-client.ts';
import { whoAmI } from '../../../../src/kube/required-rights.ts';
import { CertificateAuthority } from '../../../rig/site/certificates.ts';
import { installDirectory } from '../../../rig/site/portal.ts';
import { LiveCluster } from '../../../rig/site/live-cluster.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { waitFor } from '../../../rig/wait-for.ts';
import { refusedLogin } from '../../../rig/login-node/refused-login.ts';
import { LiveSession } from '../../../rig/login-node/live-session.ts';
import { startPodHost, type PodHost } from '../../../rig/login-node/pod-host.ts';
import { TlsProxy } from './tls-proxy.ts';

vi.setConfig({ hookTimeout: 600_000 });

const user = 'pf-way';
const namespace = `u-${user}`;

let site: Site;
let pods: PodHost;
let proxy: TlsProxy;
let cluster: LiveCluster;
beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  proxy = await TlsProxy.open(site, await site.certificates.server('stand-in'));
  pods = await startPodHost(site, {
    mode: 'forced',
    users: { [user]: [], 'pf-two': [], 'pf.two': [] },
    profile: { lifetime: 'user', grace: '0s' },
  });
  await leadTo(proxy.url);
});
afterAll(async () => {
  await pods.stop();
  await proxy.close();
  await cluster.deleteNamespaces([namespace, 'u-pf-two']);
});

/** Root's kubeconfig of the login node. */
const leadTo = async (server: string, ca?: string): Promise<void> => {
  const { kubeconfig } = pods.portal.files;
  const text = await readFile(kubeconfig, 'utf8');
  const next = text.replace(/server: .*/, `server: ${server}`);
  await writeFile(
    kubeconfig,
    ca === undefined
      ? next
      : next.replace(/certificate-authority: .*/, `certificate-authority: ${ca}`),
  );
};
const ssh = (...words: string[]) => pods.host.ssh(user, words);
const worksAgain = async (): Promise<void> => {
  const { exitCode, stdout, stderr } = await ssh('echo in');
  expect({ exitCode, stdout: stdout.toString(), stderr }).toEqual({
    ...{ exitCode: 0, stdout: 'in\n', stderr: '' },
  });
};
/** Root's copy on the login node of what sessions of the user go to the cluster with. */
const sessionToken = async (): Promise<string> => {
  const uid = pods.host.users.find(({ name }) => name === user)?.uid;
  const { stdout } = await pods.host.asRoot(['sh', '-c', `cat /run/berth/pods/${uid}/*.json`]);
  return (JSON.parse(stdout.toString()) as PodGrant).server.token ?? '';
};
const isAccepted = async (token: string): Promise<boolean> => {
  const client = apiClient(
    { url: site.server, ca: site.ca.pem, token },
    AbortSignal.timeout(10_000),
  );
  try {
    return (await whoAmI(client)) === `system:serviceaccount:${namespace}:berth-session`;
  } catch (thrown) {
    if (thrown instanceof BerthError && thrown.code === 'api-unauthorized') return false;
    throw thrown;
  } finally {
    client.close();
  }
};
const stillThere = async (session: LiveSession, word: string): Promise<void> => {
  session.client.stdin?.write(`${word}\n`);
  await session.waitForOutput(word);
};

describe('an API server', () => {
  it('that is slow makes a login slow, and nothing else', async () => {
    proxy.delayMs = 150;
    try {
      await worksAgain();
    } finally {
      proxy.delayMs = 0;
    }
  });

  it('that is slow keeps nothing of a connection that ends while another’s end asks it', async () => {
    const [one, other] = await Promise.all([
      LiveSession.startReady(pods.host, user, 'cat'),
      LiveSession.startReady(pods.host, user, 'cat'),
    ]);
    const connections = pods.host.path(`/run/berth/connections/${pods.host.account(user).uid}`);
    const before = proxy.joined;
    proxy.delayMs = 500;
    try {
      await one.kill();
      // By now it has seen that the other is open.
      await expect.poll(() => proxy.joined).toBeGreaterThan(before);
      await other.kill();
      await expect
        .poll(async () => (await readdir(connections)).filter((name) => !name.includes('closing')))
        .toEqual([]);
    } finally {
      proxy.delayMs = 0;
    }
    await expect.poll(() => readdir(connections)).toEqual([]);
    const { stdout } = await site.kubectl(['-n', namespace, 'get', 'pods,secrets', '-o', 'name']);
    expect(stdout).not.toMatch(/berth/);
  });

  it('that sheds load is asked again, and where that does not help it says so', async () => {
    const session = await LiveSession.startReady(pods.host, user, 'cat');
    proxy.busy = true;
    try {
      // The way of the first is good for the second, which is then refused itself.
      const second = await refusedLogin(pods.host, user);
      expect(second.line).toContain('429: the server has received too many requests');
      await stillThere(session, 'still here');
    } finally {
      proxy.busy = false;
    }
    await worksAgain();
    proxy.busy = true;
    await session.kill();
    await expect.poll(() => pods.host.log()).toContain('code=api-overloaded');
    try {
      const { line, code } = await refusedLogin(pods.host, user);
      expect(code).toMatch(/pod-access-missing|api-overloaded|exec-server-error/);
      expect(line).toContain('429');
    } finally {
      proxy.busy = false;
    }
    await worksAgain();
  });
});

describe('the token of a session', () => {
  it('may end while it runs: that goes on, the next is told, and the one after works', async () => {
    const session = await LiveSession.startReady(pods.host, user, 'cat');
    const token = await sessionToken();
    // What its time does after an hour. The API server remembers a good token for some seconds, and a close
    // that meets a dead one renews it: no other connection of the user closes or opens meanwhile.
    const { uid } = pods.host.account(user);
    const connections = async (): Promise<string[]> => {
      // Some closes met an API server that did not answer.
      await pods.host.asRoot([`${installDirectory}/berth`, 'reap']);
      return readdir(pods.host.path(`/run/berth/connections/${uid}`));
    };
    await expect.poll(connections).toHaveLength(1);
    await cluster.delete('secret', 'berth-session', namespace);
    await waitFor(
      { what: 'the API server to forget the token', timeoutMs: 60_000, everyMs: 500 },
      async () => ((await isAccepted(token)) ? undefined : true),
    );
    const refused = await ssh('true');
    expect(refused.exitCode).toBe(255);
    expect(refused.stderr).toMatch(
      /\[exec-unauthorized, .*The credential of this session has expired. Log in again/,
    );
    await worksAgain();
    await stillThere(session, 'still here');
    await session.kill();
  });
});

describe('the certificate of the API server', () => {
  it('may be of another authority: the next login after root’s kubeconfig knows it is let in', async () => {
    const session = await LiveSession.startReady(pods.host, user, 'cat');
    const other = await CertificateAuthority.create(join(pods.portal.directory, 'other'));
    await proxy.rotate(await other.server('rotated'));
    const { code, line } = await refusedLogin(pods.host, user);
    expect(code).toBe('exec-certificate');
    expect(line).toContain('its certificate is not trusted');
    await leadTo(proxy.url, other.cert);
    await worksAgain();
    await stillThere(session, 'still here');
    await session.kill();
    await proxy.rotate(await site.certificates.server('stand-in'));
    await leadTo(proxy.url, site.ca.file);
    await waitFor({ what: 'the old way', timeoutMs: 60_000 }, async () => {
      await worksAgain();
      return true;
    });
  });
});

describe('a user whose namespace is deleted after the connection was opened', () => {
  it('reports it; a new connection creates the namespace again', async () => {
    const socket = join(pods.host.directory, 'mux');
    const open = LiveSession.start(pods.host, user, ['-M', '-N', '-S', socket]);
    const over = (command: string) => ssh('-S', socket, command);
    await waitFor({ what: 'the connection', timeoutMs: 60_000 }, async () =>
      (await ssh('-S', socket, '-O', 'check')).exitCode === 0 ? true : undefined,
    );
    expect((await over('true')).exitCode).toBe(0);
    await cluster.deleteNamespaces([namespace]);
    await site.kubectl(['wait', '--for=delete', `namespace/${namespace}`, '--timeout=40s']);
    const { exitCode, stderr } = await over('true');
    expect(exitCode).toBe(255);
    expect(stderr).toMatch(
      /^login: .*\[(exec-unauthorized|exec-forbidden|pod-namespace-gone), session \S+\]\. /,
    );
    await worksAgain();
    await open.kill();
  });
});

describe('two users whose names lead to one namespace', () => {
  it('do not share it: the second is refused, and told whose it is', async () => {
    const first = await pods.host.ssh('pf-two', ['true']);
    expect(first.exitCode, first.stderr).toBe(0);
    const { line, code } = await refusedLogin(pods.host, 'pf.two');
    expect(code).toBe('pod-access-missing');
    expect(line).toContain('u-pf-two');
    expect(line).toContain('pf-two');
    expect((await pods.host.ssh('pf-two', ['true'])).exitCode).toBe(0);
  });
});
