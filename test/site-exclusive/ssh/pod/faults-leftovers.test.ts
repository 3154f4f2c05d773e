import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { installDirectory } from '../../../rig/site/portal.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { waitFor } from '../../../rig/wait-for.ts';
import { buildForkChain } from '../../../rig/login-node/fork-chain.ts';
import { repetitions } from '../../../rig/soak.ts';
import { endedFirstThread } from '../../../rig/login-node/ended-first-thread.ts';
import { findLeftovers, noLeftovers } from '../../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../../rig/login-node/live-session.ts';
import { startPodHost, type PodHost } from '../../../rig/login-node/pod-host.ts';

vi.setConfig({ hookTimeout: 600_000 });

const users = { 'pf-own': [], 'pf-shared': [], 'pf-brief': [], 'pf-linger': [] };

let site: Site;
let pods: PodHost;
beforeAll(async () => {
  site = await openSite();
  await removePods();
  pods = await startPodHost(site, {
    mode: 'forced',
    users,
    sshYml: {
      rules: [
        { profile: 'shared', users: ['pf-shared'] },
        { profile: 'brief', users: ['pf-brief'] },
        { profile: 'linger', users: ['pf-linger'] },
        { profile: 'base' },
      ],
    },
    profiles: {
      shared: { lifetime: 'user', grace: '1h' },
      brief: { lifetime: 'user', grace: '3s' },
      linger: { lifetime: 'user', grace: '0s', linger: true },
    },
  });
});
afterAll(async () => {
  await pods.stop();
  await removePods();
});

const ssh = (user: string, ...words: string[]) => pods.host.ssh(user, words);
const live = (user: string, command: string) => LiveSession.startReady(pods.host, user, command);
const kubectl = (user: string, ...words: string[]) => site.kubectl(['-n', `u-${user}`, ...words]);
/** Of a former run, whose homes are gone. */
const removePods = async (): Promise<void> => {
  const atOnce = ['--force', '--grace-period=0', '--ignore-not-found'];
  for (const user of Object.keys(users)) await kubectl(user, 'delete', 'pods', '--all', ...atOnce);
};
const podNames = async (user: string): Promise<string[]> =>
  (await kubectl(user, 'get', 'pods', '-o', 'name')).stdout
    .split('\n')
    .filter((line) => line !== '');
const reap = async (): Promise<void> => {
  const { exitCode, stderr } = await pods.host.asRoot([`${installDirectory}/berth`, 'reap']);
  expect(exitCode, stderr).toBe(0);
};
/** Commands of what runs in the user's only pod, but for the pod's own and this look. */
const runs = async (user: string): Promise<string[]> => {
  const [pod = ''] = await podNames(user);
  const script = 'ps -eo ppid=,args= | grep -v "^ *0 \\| ps -eo\\| grep -v"';
  const { stdout } = await kubectl(user, 'exec', pod, '--', 'sh', '-c', script);
  return stdout
    .split('\n')
    .map((line) => line.trim().replace(/^\d+ +/, ''))
    .filter((line) => line !== '');
};
const nothingOf = (user: string): Promise<unknown> =>
  waitFor({ what: `${user} to be gone`, timeoutMs: 60_000, everyMs: 300 }, async () => {
    expect(await podNames(user)).toEqual([]);
    expect((await kubectl(user, 'get', 'secret', 'berth-session')).exitCode).not.toBe(0);
    expect(await findLeftovers(pods.host, user)).toEqual(noLeftovers);
    return true;
  });
/** Of the login that is the user's relay. */
const relays = async (user: string): Promise<string[]> =>
  (await pods.host.asRoot(['pgrep', '-u', user, '-f', 'shell/login'])).stdout
    .toString()
    .split('\n')
    .filter((pid) => pid !== '');

describe('a session whose pod is deleted while it runs', () => {
  it.each(['pf-own', 'pf-shared'])(
    '%s: the session ends with 255 and a reason, and the next one works',
    async (user) => {
      const session = await live(user, 'sleep 300');
      const [pod = ''] = await podNames(user);
      await kubectl(user, 'delete', pod, '--wait=false');
      expect(await session.exitCode()).toBe(255);
      expect(session.output).toMatch(/^login: the pod of your session was deleted .*\[pod-lost, /m);
      const again = await ssh(user, 'echo anew');
      expect([again.exitCode, again.stdout.toString()]).toEqual([0, 'anew\n']);
    },
  );
});

describe('connections to one pod that end at the same time', () => {
  it('stop nobody for good who is still there', { timeout: 240_000 }, async () => {
    const user = 'pf-shared';
    const other = LiveSession.start(pods.host, user, ['-tt']);
    other.client.stdin?.write('echo re""ady; cat\n');
    await other.waitForOutput('ready');
    for (let round = 0; round < repetitions(5, 50); round += 1) {
      const ends = await Promise.all(Array.from({ length: 6 }, () => ssh(user, 'sleep 0.1')));
      expect(ends.map(({ exitCode }) => exitCode)).toEqual(ends.map(() => 0));
      other.client.stdin?.write(`round ${round}\n`);
      // Said by the terminal, and by cat in the foreground.
      await waitFor({ what: 'cat to answer', timeoutMs: 60_000 }, () =>
        Promise.resolve(other.output.split(`round ${round}\r\n`).length === 3 ? true : undefined),
      );
    }
    await other.kill();
  });
});

describe('a relay that is killed with -9', () => {
  it('leaves nothing if the pod is for its connection', async () => {
    const session = await live('pf-own', 'setsid sleep 300 & sleep 301');
    await pods.host.asRoot(['kill', '-9', ...(await relays('pf-own'))]);
    expect(await session.exitCode()).toBe(255);
    await nothingOf('pf-own');
  });

  it('leaves nothing in a pod that other connections share, and of those nothing ends', async () => {
    const user = 'pf-shared';
    const other = await live(user, 'sleep 310 & env -i sleep 311 & cat');
    const [otherRelay] = await relays(user);
    const session = await live(
      user,
      [
        `trap '' HUP; nohup sleep 300 >&- 2>&- & setsid sleep 301 & env -i sleep 302 & sleep 303 &`,
        // The mark of a connection that never was, and of one to come.
        endedFirstThread('/tmp/life'),
        'env BERTH_CONNECTION=1.1 setsid sleep 304 & env BERTH_CONNECTION=1.99999999999 sleep 305',
      ].join(' '),
    );
    await expect.poll(() => runs(user)).toContain('[python3] <defunct>');
    const [relay = ''] = (await relays(user)).filter((pid) => pid !== otherRelay);
    await pods.host.asRoot(['kill', '-9', relay]);
    expect(await session.exitCode()).toBe(255);
    const sleeps = async () =>
      (await runs(user)).filter((line) => /^sleep 3|python3/.test(line)).sort();
    await expect.poll(sleeps).toEqual(['sleep 310', 'sleep 311']);
    other.client.stdin?.write('still here\n');
    await other.waitForOutput('still here');
    await other.kill();
    await expect.poll(() => runs(user)).toEqual([]);
    expect(await podNames(user)).toHaveLength(1);
  });

  it('leaves nothing though it is another process at each look, and others are only held for a moment', async () => {
    const user = 'pf-shared';
    const { home } = pods.host.account(user);
    const life = (): Promise<string> =>
      readFile(pods.host.path(`${home}/life`), 'latin1').catch(() => '');
    const program = 'cat >chain && chmod 755 chain';
    await pods.host.asUser(user, ['sh', '-c', program], { input: await buildForkChain() });
    const other = LiveSession.start(pods.host, user, ['-tt']);
    other.client.stdin?.write('sh -c "kill -STOP \\$\\$; true" & echo re""ady; cat\n');
    await other.waitForOutput('ready');
    const session = await live(user, '~/chain ~/life & sleep 300');
    await expect.poll(life).not.toBe('');
    const before = await life();
    await expect.poll(life).not.toBe(before);
    const { output } = other;
    await session.kill();
    // What a busy machine leaves to the reaper it ends at its next turn.
    await waitFor({ what: 'the end of the close', timeoutMs: 60_000, everyMs: 1_000 }, async () => {
      await reap();
      const { files } = await findLeftovers(pods.host, user);
      return files.filter((file) => file.includes('/connections/')).length === 1 ? true : undefined;
    });
    const last = await life();
    await sleep(500);
    expect(await life()).toBe(last);
    other.client.stdin?.write('still here\n');
    await waitFor({ what: 'the answer', timeoutMs: 60_000 }, () =>
      Promise.resolve(other.output.endsWith('still here\r\nstill here\r\n') ? true : undefined),
    );
    expect(other.output).toBe(`${output}still here\r\nstill here\r\n`);
    const [pod = ''] = await podNames(user);
    const ps = ['ps', '-eo', 'stat=,args='];
    const { stdout } = await kubectl(user, 'exec', pod, '--', ...ps);
    expect(stdout).toMatch(/^T\S* +sh -c kill -STOP/m);
    expect(stdout).toMatch(/^S\S* +cat$/m);
    expect(stdout).toMatch(/^S\S* +sleep infinity$/m);
    await other.kill();
    await expect.poll(() => runs(user)).toEqual([]);
  });

  it('leaves nothing after the reaper’s next turn, where sshd was killed too', async () => {
    const user = 'pf-shared';
    const session = await live(user, 'nohup sleep 300 >&- 2>&- & sleep 301');
    const pid = (await relays(user))[0] ?? '';
    const { stdout } = await pods.host.asRoot([
      ...['sh', '-c', 'p=$(ps -o ppid= -p $0); m=$(ps -o ppid= -p $p); echo $m $p $0', pid],
    ]);
    await pods.host.asRoot(['kill', '-9', ...stdout.toString().trim().split(' ')]);
    await session.exitCode();
    expect(await runs(user)).toContain('sleep 300');
    await reap();
    expect(await runs(user)).toEqual([]);
  });
});

describe('a pod that waits for the next connection', () => {
  it('has all of its grace after each of them', async () => {
    const user = 'pf-brief';
    const uids = async (): Promise<string> =>
      (await kubectl(user, 'get', 'pods', '-o', 'jsonpath={.items[*].metadata.uid}')).stdout;
    const afterConnection = async (): Promise<string> => {
      expect((await ssh(user, 'true')).exitCode).toBe(0);
      await expect.poll(async () => (await findLeftovers(pods.host, user)).files).toEqual([]);
      return uids();
    };
    const pod = await afterConnection();
    // Its grace: nobody looks meanwhile.
    await sleep(3_100);
    expect(await afterConnection()).toBe(pod);
  });

  // A run of the reaper takes long beside other work.
  it(
    'is removed by the reaper when its grace is over, and not before',
    { timeout: 300_000 },
    async () => {
      await ssh('pf-shared', 'true');
      await ssh('pf-brief', 'true');
      const before = await podNames('pf-brief');
      await reap();
      expect(before).toHaveLength(1);
      await waitFor(
        { what: 'the grace to be over', timeoutMs: 240_000, everyMs: 500 },
        async () => {
          await reap();
          return (await podNames('pf-brief')).length === 0 ? true : undefined;
        },
      );
      await nothingOf('pf-brief');
      expect(await podNames('pf-shared')).toHaveLength(1);
    },
  );

  it('stays as long as what ignores a hangup works on, where the profile lets it linger', async () => {
    const user = 'pf-linger';
    const session = await live(user, 'nohup sleep 300 >&- 2>&- & sleep 301 & cat');
    await session.kill();
    await expect.poll(() => runs(user)).toEqual(['sleep 300']);
    await reap();
    expect(await runs(user)).toEqual(['sleep 300']);
    const [pod = ''] = await podNames(user);
    await kubectl(user, 'exec', pod, '--', 'pkill', '-f', '^sleep 300');
    await reap();
    await nothingOf(user);
  });
});

describe('thirty connections at once', () => {
  const thirty = (user: string) =>
    Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        const { exitCode, stdout, stderr } = await pods.host.ssh(
          user,
          [`echo ${index} $(hostname)`],
          {
            timeout: 120_000,
          },
        );
        return { exitCode, stderr, said: stdout.toString().trim().split(' ') };
      }),
    );

  it('share one pod, and all succeed', { timeout: 240_000 }, async () => {
    const ends = await thirty('pf-brief');
    for (const [index, { exitCode, stderr, said }] of ends.entries())
      expect({ exitCode, stderr, index: said[0] }).toEqual({
        ...{ exitCode: 0, stderr: '', index: String(index) },
      });
    expect(new Set(ends.map(({ said }) => said[1])).size).toBe(1);
    await waitFor({ what: 'the grace to be over', timeoutMs: 90_000, everyMs: 1000 }, async () => {
      await reap();
      return (await podNames('pf-brief')).length === 0 ? true : undefined;
    });
    await nothingOf('pf-brief');
  });
});
