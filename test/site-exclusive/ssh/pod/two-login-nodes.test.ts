import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { installDirectory } from '../../../rig/site/portal.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { waitFor } from '../../../rig/wait-for.ts';
import { repetitions } from '../../../rig/soak.ts';
import { findLeftovers, noLeftovers } from '../../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../../rig/login-node/live-session.ts';
import { startPodHost, type PodHost } from '../../../rig/login-node/pod-host.ts';

vi.setConfig({ hookTimeout: 600_000 });

const [shared, own, grace] = ['tn-shared', 'tn-own', 'tn-grace'];

let site: Site;
let login1: PodHost;
let login2: PodHost;
beforeAll(async () => {
  site = await openSite();
  const options = {
    mode: 'forced',
    users: { [shared]: [], [own]: [], [grace]: [] },
    sshYml: {
      rules: [
        { profile: 'shared', users: [shared] },
        { profile: 'grace', users: [grace] },
        { profile: 'base' },
      ],
    },
    profiles: {
      shared: { lifetime: 'user', grace: '0s' },
      grace: { lifetime: 'user', grace: '1h' },
    },
  } as const;
  login1 = await startPodHost(site, { ...options, name: 'login1' });
  login2 = await startPodHost(site, {
    ...{ ...options, name: 'login2', address: '127.0.0.2', beside: login1 },
  });
});
afterAll(async () => {
  await login2.stop();
  await login1.stop();
});

const live = (on: PodHost, user: string, command: string) =>
  LiveSession.startReady(on.host, user, command);
const kubectl = (user: string, ...words: string[]) => site.kubectl(['-n', `u-${user}`, ...words]);
const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');
const podNames = async (user: string): Promise<string[]> =>
  lines((await kubectl(user, 'get', 'pods', '-o', 'name')).stdout).sort();
const sleeps = async (user: string): Promise<string[]> => {
  const [pod = ''] = await podNames(user);
  const { stdout } = await kubectl(user, 'exec', pod, '--', 'ps', '-eo', 'args=');
  return lines(stdout)
    .filter((line) => /^sleep \d/.test(line))
    .sort();
};
/** The claims of login nodes on the user's namespace: `login1=open …`. */
const claims = async (user: string): Promise<string[]> => {
  const { stdout } = await site.kubectl(['get', 'namespace', `u-${user}`, '-o', 'json']);
  const { metadata } = JSON.parse(stdout) as { metadata: { annotations: Record<string, string> } };
  return Object.entries(metadata.annotations).flatMap(([key, value]) =>
    key.startsWith('login.berth.dev/') ? [`${key.slice(16)}=${value}`] : [],
  );
};
const reap = async ({ host }: PodHost): Promise<void> => {
  const { exitCode, stderr } = await host.asRoot([`${installDirectory}/berth`, 'reap']);
  expect(exitCode, stderr).toBe(0);
};
const isClosed = ({ host }: PodHost, user: string): Promise<true> =>
  waitFor({ what: `the cleanup on ${host.name}`, timeoutMs: 60_000, everyMs: 200 }, async () =>
    (await findLeftovers(host, user)).files.length === 0 ? true : undefined,
  );
const nothingOf = (user: string, ...on: readonly PodHost[]): Promise<unknown> =>
  waitFor({ what: `${user} to be gone`, timeoutMs: 60_000, everyMs: 300 }, async () => {
    expect(await podNames(user)).toEqual([]);
    expect(await claims(user)).toEqual([]);
    expect((await kubectl(user, 'get', 'secret', 'berth-session')).exitCode).not.toBe(0);
    for (const { host } of on) expect(await findLeftovers(host, user)).toEqual(noLeftovers);
    return true;
  }).catch(async (error: unknown) => {
    const logs = await Promise.all(on.map(({ host }) => host.log()));
    const lines = logs.join('\n').split('\n');
    throw new Error(lines.filter((line) => line.includes(user)).join('\n'), { cause: error });
  });

describe('a user on two login nodes, with a pod for all connections', () => {
  it('gets one pod if both create it at once, and it ends with the last connection to either', async () => {
    const [one, two] = await Promise.all([
      live(login1, shared, 'setsid sleep 301 & cat'),
      live(login2, shared, 'setsid sleep 302 & cat'),
    ]);
    expect(await podNames(shared)).toEqual(['pod/berth-shared']);
    expect(await claims(shared)).toHaveLength(2);
    expect(await sleeps(shared)).toEqual(['sleep 301', 'sleep 302']);

    await one.kill();
    await isClosed(login1, shared);

    // What the closed connection left is gone; the other node's session and its background process go on.
    expect(await sleeps(shared)).toEqual(['sleep 302']);
    two.client.stdin?.write('still here\n');
    await two.waitForOutput('still here');
    expect(await claims(shared)).toEqual([
      expect.stringMatching(/^login2=open \d+ berth-session$/),
    ]);

    await two.kill();
    await nothingOf(shared, login1, login2);
  });

  it('keeps sessions on one node that start while the last connection to the other closes', async () => {
    for (let round = 0; round < repetitions(4, 60); round += 1) {
      const [from, to] = round % 2 === 0 ? [login1, login2] : [login2, login1];
      const first = await live(from, shared, 'cat');
      const [ended] = await Promise.all([
        to.host.ssh(shared, ['sleep 1; echo done']),
        new Promise((resolve) => setTimeout(resolve, 150 * (round % 8))).then(() => first.kill()),
      ]);
      expect([ended.exitCode, ended.stdout.toString(), ended.stderr]).toEqual([0, 'done\n', '']);
    }
    await nothingOf(shared, login1, login2);
  });

  it('keeps the pod for the grace period after the last connection to any node', async () => {
    await (await live(login1, grace, 'cat')).kill();
    await isClosed(login1, grace);
    const { uid } = login1.host.account(grace);
    const since = async (host: PodHost): Promise<void> => {
      // As if the last connection to this node had closed two hours ago.
      const text = `${Date.now() - 7_200_000} 1\n`;
      await writeFile(host.host.path(`/run/berth/pods/${uid}/waiting`), text);
    };

    const two = await live(login2, grace, 'cat');
    await since(login1);
    await reap(login1);
    expect(await podNames(grace)).toEqual(['pod/berth-grace']);

    await two.kill();
    await isClosed(login2, grace);
    await since(login1);
    await reap(login1);
    // The hour counts from the end on the other node.
    expect(await podNames(grace)).toEqual(['pod/berth-grace']);

    const closed = ['--overwrite', `berth.dev/ssh-closed=${Math.floor(Date.now() / 1000) - 7200}`];
    await site.kubectl(['annotate', 'namespace', `u-${grace}`, ...closed]);
    await since(login1);
    await reap(login1);
    await nothingOf(grace, login1, login2);
  });
});

describe('a user on two login nodes, with a pod for each connection', () => {
  it('has pods with the names of the nodes, and each node deletes its own', async () => {
    const one = await live(login1, own, 'cat');
    const two = await live(login2, own, 'cat');
    expect(await podNames(own)).toEqual([
      expect.stringMatching(/^pod\/berth-base-login1-\d+-\d+$/),
      expect.stringMatching(/^pod\/berth-base-login2-\d+-\d+$/),
    ]);

    await one.kill();
    await waitFor({ what: "login1's pod to end", timeoutMs: 60_000, everyMs: 200 }, async () =>
      (await podNames(own)).length === 1 ? true : undefined,
    );
    expect(await podNames(own)).toEqual([expect.stringContaining('-login2-')]);
    await two.kill();
    await nothingOf(own, login1, login2);
  });
});

describe('a login node that loses its power', () => {
  it('does not keep the pod, the tokens and its processes for ever', async () => {
    const lost = await live(login2, shared, 'setsid sleep 303 & cat');
    const alone = await live(login2, own, 'cat');
    const one = await live(login1, shared, 'cat');
    await login2.host.kill();
    await Promise.all([lost.kill(), alone.kill()]);

    await one.kill();
    await isClosed(login1, shared);
    // Its claim is still valid: it may only be slow.
    expect(await sleeps(shared)).toEqual(['sleep 303']);

    const later = Math.floor(Date.now() / 1000) - 1900;
    const expired = ['--overwrite', `login.berth.dev/login2=open ${later} berth-session`];
    for (const user of [shared, own]) {
      await site.kubectl(['annotate', 'namespace', `u-${user}`, ...expired]);
      await (await live(login1, user, 'setsid sleep 304 & cat')).kill();
      await nothingOf(user, login1);
    }

    await login2.host.boot();
    const back = await login2.host.ssh(shared, ['echo back']);
    expect([back.exitCode, back.stdout.toString()]).toEqual([0, 'back\n']);
    await nothingOf(shared, login1, login2);
  });
});
