import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { withoutApiServer } from '../../../rig/site/kubernetes/api-server-outage.ts';
import { ensureNode, type TestNode } from '../../../rig/site/kubernetes-node/node.ts';
import { installDirectory } from '../../../rig/site/portal.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { waitFor } from '../../../rig/wait-for.ts';
import { refusedLogin } from '../../../rig/login-node/refused-login.ts';
import { findLeftovers } from '../../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../../rig/login-node/live-session.ts';
import { startPodHost, type PodHost } from '../../../rig/login-node/pod-host.ts';

vi.setConfig({ hookTimeout: 600_000 });

const user = 'pf-out';

let site: Site;
let node: TestNode;
let pods: PodHost;
beforeAll(async () => {
  site = await openSite();
  node = await ensureNode(site);
  pods = await startPodHost(site, {
    mode: 'forced',
    users: { [user]: [], 'pf-pull': [], 'pf-warm': [] },
    sshYml: {
      rules: [
        { profile: 'pull', users: ['pf-pull'] },
        { profile: 'warm', users: ['pf-warm'] },
        { profile: 'base' },
      ],
    },
    profile: { deadline: '20s' },
    profiles: {
      warm: { lifetime: 'user', grace: '1h' },
      pull: { image: `${node.registry.address}/private:1`, pull: 'always' },
    },
  });
});
afterAll(() => pods.stop());

const ssh = (...words: string[]) => pods.host.ssh(user, words);
const live = (command: string) => LiveSession.startReady(pods.host, user, command);
const podNames = async (): Promise<string> =>
  (await site.kubectl(['-n', `u-${user}`, 'get', 'pods', '-o', 'name'])).stdout;
const reap = () => pods.host.asRoot([`${installDirectory}/berth`, 'reap'], { timeout: 60_000 });
/** The reaper's next turn that finds the cluster well again. */
const nothingAfterReaping = (): Promise<unknown> =>
  waitFor({ what: 'nothing to be left', timeoutMs: 60_000, everyMs: 1000 }, async () => {
    const { exitCode, stderr } = await reap();
    expect(exitCode, stderr).toBe(0);
    expect(await podNames()).toBe('');
    return true;
  });
const worksAgain = (): Promise<unknown> =>
  waitFor({ what: 'a login to work', timeoutMs: 60_000, everyMs: 1000 }, async () => {
    const { exitCode, stderr } = await ssh('true');
    expect(exitCode, stderr).toBe(0);
    return true;
  });

/** Runs it while logins with the profile have another deadline. */
const withDeadline = async (
  deadline: string,
  profile: string,
  during: () => Promise<void>,
): Promise<void> => {
  const file = pods.host.path(`/etc/berth/profiles/${profile}.yml`);
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(/^deadline: .*$/m, `deadline: ${deadline}`));
  await during().finally(() => writeFile(file, text));
};

/** As the cluster itself does five minutes after a node has died. */
const giveUpPods = (of: string) =>
  site.kubectl(['-n', `u-${of}`, 'delete', 'pods', '--all', '--wait=false']);

describe('an unreachable API server', () => {
  it('ends sessions with 255 and a reason, and new logins get a reason; leftovers are reaped', async () => {
    const session = await live('sleep 300');
    await withoutApiServer(site, async () => {
      expect(await session.exitCode()).toBe(255);
      expect(session.output).toMatch(/^login: .*\[exec-connection-lost, session \S+\]\. /m);
      const known = await refusedLogin(pods.host, user);
      expect(known.code).toBe('exec-unreachable');
      expect(known.line).toContain('ECONNREFUSED');
      const unknown = await refusedLogin(pods.host, 'pf-pull');
      expect(unknown.code).toBe('pod-access-missing');
      expect(unknown.line).toMatch(/your pods cannot be reached at the moment: .*ECONNREFUSED/);
      const { exitCode, stderr } = await reap();
      expect(exitCode, stderr).toBe(75);
    });
    await nothingAfterReaping();
    await worksAgain();
  });
});

describe('a kubelet that is stopped', () => {
  it('ends sessions with 255, logins wait no longer than the deadline, and everything works afterwards', async () => {
    const session = await live('sleep 300');
    await node.stop('kubelet');
    try {
      expect(await session.exitCode()).toBe(255);
      expect(session.output).toMatch(/^login: .*\[[a-z-]+, session \S+\]\. /m);
      await withDeadline('4s', 'base', async () => {
        const { code, line, milliseconds } = await refusedLogin(pods.host, user);
        expect(code).toMatch(/pod-start-deadline|pod-unschedulable/);
        expect(line).toContain('did not start within 4 s');
        expect(milliseconds).toBeLessThan(40_000);
      });
    } finally {
      await node.start('kubelet');
    }
    await worksAgain();
    await nothingAfterReaping();
  });
});

describe('a node that is dead', () => {
  it('does not keep the name of the pod that the cluster gave up', async () => {
    const uids = ['-n', 'u-pf-warm', 'get', 'pods', '-o', 'jsonpath={.items[*].metadata.uid}'];
    const pod = async (): Promise<string> => {
      const { exitCode, stdout, stderr } = await site.kubectl(uids);
      expect(exitCode, stderr).toBe(0);
      return stdout;
    };
    expect((await pods.host.ssh('pf-warm', ['true'])).exitCode).toBe(0);
    // A close that is still at work removes a pod that is on its way out.
    const files = async () => (await findLeftovers(pods.host, 'pf-warm')).files;
    await expect.poll(files).toEqual([]);
    const dead = await pod();
    await node.stop('kubelet');
    try {
      await giveUpPods('pf-warm');
      expect(await pod()).toBe(dead);
      // The node has eleven seconds to end the former pod.
      await withDeadline('14s', 'warm', async () => {
        const { code } = await refusedLogin(pods.host, 'pf-warm');
        expect(code).toMatch(/pod-(start-dead|unsched)/);
      });
      expect(await pod()).not.toBe(dead);
    } finally {
      await node.start('kubelet');
    }
    const { stdout, stderr } = await pods.host.ssh('pf-warm', ['echo anew']);
    expect(stdout.toString(), stderr).toBe('anew\n');
  });
});

describe('an unreachable node', () => {
  it('takes its sessions along when the cluster gives it up: who types is told', async () => {
    const session = await LiveSession.startReady(pods.host, 'pf-warm', 'cat');
    await node.isolate(async () => {
      session.client.stdin?.write('is anybody there?\n');
      await giveUpPods('pf-warm');
      expect(await session.exitCode()).toBe(255);
      expect(session.output).toMatch(/^login: the pod of your session was deleted .*\[pod-lost, /m);
    });
    // The node, which is back, ends what the cluster gave up; a login at that moment would be told the same.
    const left = ['-n', 'u-pf-warm', 'get', 'pods', '-o', 'name'];
    await expect.poll(async () => (await site.kubectl(left)).stdout).toBe('');
    const { stdout, stderr } = await pods.host.ssh('pf-warm', ['echo anew']);
    expect(stdout.toString(), stderr).toBe('anew\n');
  });
});

describe('a registry that is stopped', () => {
  it('is reported differently from one that refuses, and the next login tries again', async () => {
    const says = async (): Promise<string> => (await refusedLogin(pods.host, 'pf-pull')).code;
    expect(await says()).toBe('pod-image-denied');
    await node.stop('docker-registry');
    try {
      expect(await says()).toBe('pod-registry-unreachable');
    } finally {
      await node.start('docker-registry');
    }
    expect(await says()).toBe('pod-image-denied');
  });
});

describe('a peer that stops reading', () => {
  it('makes the command wait and no memory grow, and ends the session when it goes', async () => {
    const session = await live('exec cat /dev/zero');
    session.client.stdout?.pause();
    session.client.kill('SIGSTOP');
    const pids = (await pods.host.asRoot(['pgrep', '-u', user, '-f', 'shell/login'])).stdout
      .toString()
      .trim()
      .split('\n');
    expect(pids).toHaveLength(1);
    const status = pods.host.path(`/proc/${pids[0] ?? ''}/status`);
    const peak = async (): Promise<number> =>
      Number(/VmHWM:\s+(\d+)/.exec(await readFile(status, 'utf8'))?.[1]) / 1024;
    await expect.poll(peak).toBeGreaterThan(30);
    await new Promise((resolve) => setTimeout(resolve, 2000));
    // Node itself has some 45; a second of zeroes is hundreds.
    expect(await peak()).toBeLessThan(100);
    await session.kill();
    await nothingAfterReaping();
  });
});
