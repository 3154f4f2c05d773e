import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../rig/wait-for.ts';
import { heldByFuse } from '../../rig/login-node/held-by-fuse.ts';
import { abortFuse, showFuseConnections } from '../../rig/login-node/fuse-connections.ts';
import { execOnFuse } from '../../rig/login-node/exec-on-fuse.ts';
import { fuseHydra } from '../../rig/login-node/fuse-hydra.ts';
import { overlayOnFuse } from '../../rig/login-node/overlay-on-fuse.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { sharedProfile, SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';

const withFuse = { podman: { devices: ['/dev/fuse'] } };

describe('a process that survives SIGKILL, because it waits for a FUSE file system', () => {
  let host: SshHost;

  beforeAll(async () => {
    host = await SshHost.start({
      ...{ mode: 'forced', users: { 'fuse-ann': [], 'fuse-bob': [] } },
      sshYml: { rules: [{ users: ['fuse-bob'], profile: 'shared' }, { profile: 'own' }] },
      profiles: {
        own: { ...standardProfile, ...withFuse, timeouts: { idle: '4h' } },
        shared: { ...sharedProfile, ...withFuse },
      },
    });
    await showFuseConnections(host);
  });
  afterAll(() => host.stop());

  const held = async (user: string, how = ''): Promise<{ session: LiveSession; pid: string }> => {
    const session = LiveSession.start(host, user, [
      `python3 - ${how} <<'END'\n${heldByFuse}\nEND\necho ready; exec sleep 1000`,
    ]);
    await session.waitForOutput('ready');
    const [, pid = ''] = /held (\d+)/.exec(session.output) ?? [];
    return { session, pid };
  };
  const gone = async (user: string, work: () => Promise<unknown>): Promise<void> => {
    await waitFor({ what: `${user} to be gone`, timeoutMs: 90_000 }, async () => {
      await work();
      expect(await findLeftovers(host, user)).toEqual(noLeftovers);
      return true;
    });
  };

  it.each(['mounted', 'detached'])(
    'ends with its connection, whose file system it is: %s',
    async (how) => {
      const { session } = await held('fuse-ann', how);
      await session.kill();
      await gone('fuse-ann', () => Promise.resolve());
      expect(await host.log()).not.toMatch(/level=error.*user=fuse-ann/);
    },
  );

  it("stays while another session uses the file system, and root's log says which", async () => {
    const { session, pid } = await held('fuse-bob');
    const inside = `nsenter -t ${pid} -U -m --preserve-credentials`;
    const other = LiveSession.start(host, 'fuse-bob', [`${inside} sh -c 'echo in; sleep 1000'`]);
    await other.waitForOutput('in\n');
    await session.kill();
    await waitFor({ what: 'the close of the first', timeoutMs: 60_000 }, async () =>
      (await host.log()).includes('code=processes-not-killed') ? true : undefined,
    );
    expect(await host.log()).toMatch(
      /1 process of connection \S+ survived SIGKILL: no answer from FUSE connection \d+/,
    );
    expect(other.client.exitCode).toBeNull();
    await other.kill();
    await gone('fuse-bob', () => host.asRoot([`${installDirectory}/berth`, 'reap']));
  });

  /** In place of a directory of the runtime directory, a link to a file system that answers nothing. */
  const leadAway = async (user: string, directory: string): Promise<void> => {
    const { uid, home } = host.account(user);
    // What the user can run on the host: with a shell there, or in a job on this node.
    const program = overlayOnFuse.replaceAll('/tmp/', `${home}/`);
    const start = `cat >overlay.py; rm -f out
      setsid python3 overlay.py wholly >out 2>&1 </dev/null &
      until grep -qs silent out; do sleep 0.1; done; sed -n 's/silent //p' out`;
    const { stdout } = await host.asUser(user, ['timeout', '30', 'sh', '-c', start], {
      input: program,
    });
    const link = `cd /run/user/${uid} && mv $1 $1.away && ln -s "/proc/$0/root${home}/overlay" $1`;
    await host.asUser(user, ['sh', '-c', link, stdout.toString().trim(), directory]);
  };

  it('a program on an overlay whose FUSE file system never answers holds up neither root nor its own end', async () => {
    const session = LiveSession.start(host, 'fuse-ann', [
      `exec python3 - <<'END'\n${overlayOnFuse}\nEND`,
    ]);
    await session.waitForOutput('silent');
    const list = [`${installDirectory}/berth`, 'sessions', 'list'];
    const listed = await host.asRoot(list, { timeout: 60_000 });
    expect(listed.stdout.toString()).toContain('fuse-ann');
    await session.kill();
    await gone('fuse-ann', () => Promise.resolve());
  });

  it('a program whose start waits for a FUSE file system holds up neither the list of sessions nor the cleanup of others', async () => {
    const other = await LiveSession.startReady(host, 'fuse-bob', 'cat');
    const session = LiveSession.start(host, 'fuse-ann', [
      `exec python3 - <<'END'\n${execOnFuse}\nEND`,
    ]);
    await session.waitForOutput('silent');
    const listing = await host.asRoot(['sh', '-c', 'cd /run/berth/connections && ls */']);
    const monitors = listing.stdout.toString().match(/^\d+(?=\.)/gm) ?? [];
    expect(monitors).toHaveLength(2);
    // As if it had the PID of an earlier connection's sshd by now: users can have all PIDs used up in seconds.
    const { uid } = host.account('fuse-ann');
    const reused = `cd /run/berth/connections/${uid}; for one in /proc/[0-9]*; do
      [ "$(stat -c %u "$one")" != ${uid} ] || : >"\${one#/proc/}.1" >"\${one#/proc/}.2.closing"; done`;
    await host.asRoot(['sh', '-c', reused]);

    // The lock of a reaper that was killed, with that PID.
    const lock = `silent=; for one in /proc/[0-9]*; do
        [ "$(stat -c %u "$one")" != ${uid} ] || timeout 1 cat "$one/stat" >/dev/null || silent=\${one#/proc/}; done
      mark=$(cut -c1-8 /proc/sys/kernel/random/boot_id)-$(readlink /proc/self/ns/pid | tr -dc 0-9)-$silent
      ln -sf "berth:$mark:1:000000000000:$(uname -n)" /run/berth/reap.lock; echo "$silent"`;
    const locked = await host.asRoot(['sh', '-c', lock]);
    expect(locked.stdout.toString()).toMatch(/^\d+\n$/);

    const berth = `${installDirectory}/berth`;
    const list = await host.asRoot([berth, 'sessions', 'list'], { timeout: 60_000 });
    expect(list.stdout.toString()).toMatch(/fuse-ann[^]*fuse-bob|fuse-bob[^]*fuse-ann/);
    expect(list.stderr).toContain('what sessions run is not shown');
    // Not pkill, which reads what does not answer.
    await host.asRoot(['kill', '-9', ...monitors]);
    await Promise.all([session.kill(), other.kill()]);

    const reap = await host.asRoot([berth, 'reap'], { timeout: 60_000 });
    expect(reap.exitCode, reap.stderr).toBe(0);
    expect(reap.stderr).toMatch(/reading \/proc hung.*killed=[1-9]/);
    for (const user of ['fuse-ann', 'fuse-bob'])
      expect(await findLeftovers(host, user)).toEqual(noLeftovers);
  });

  it('what forks and holds up each look anew ends in one run, in a container that another connection uses', async () => {
    const first = await LiveSession.startReady(host, 'fuse-bob', 'cat');
    const records = `/run/berth/connections/${host.account('fuse-bob').uid}`;
    const monitors = async (): Promise<readonly string[]> => {
      const { stdout } = await host.asRoot(['ls', records]);
      return stdout.toString().match(/^\d+(?=\.)/gm) ?? [];
    };
    const before = await monitors();
    const session = LiveSession.start(host, 'fuse-bob', [
      `python3 - <<'END'\n${fuseHydra}\nEND\nexec cat`,
    ]);
    await session.waitForOutput('ready');
    const own = (await monitors()).filter((one) => !before.includes(one));
    expect(own).toHaveLength(1);
    const { home } = host.account('fuse-bob');
    await host.asUser('fuse-bob', ['touch', `${home}/go`]);
    const generations = async (): Promise<number> =>
      Number((await readFile(host.path(`${home}/life`), 'utf8')).trim().split('\n').at(-1));
    await expect.poll(generations).toBeGreaterThan(2);
    await host.asRoot(['kill', '-9', ...own]);
    await session.kill();

    const { stderr } = await host.asRoot([`${installDirectory}/berth`, 'reap'], {
      timeout: 100_000,
    });

    // It ends itself after 38 seconds, of 300 generations.
    expect(await generations(), stderr).toBeLessThan(280);
    expect(stderr).toMatch(/reading \/proc hung.*user=fuse-bob killed=[1-9]/);
    await first.kill();
    await gone('fuse-bob', () => Promise.resolve());
  });

  it('a link of the user to such a file system, in place of notes, holds up neither the reaper nor a plan', async () => {
    const user = 'fuse-ann';
    const session = await LiveSession.startReady(host, user, 'cat');
    const { uid } = host.account(user);
    await leadAway(user, 'berth');
    const berth = `${installDirectory}/berth`;
    for (const words of [['reap'], ['plan', '--ssh', '--user', user], ['sessions', 'list']]) {
      const { exitCode } = await host.asRoot(['timeout', '40', berth, ...words], {
        timeout: 60_000,
      });
      expect(exitCode, words.join(' ')).toBeLessThan(2);
    }
    await host.asUser(user, ['sh', '-c', `cd /run/user/${uid} && rm berth && mv berth.away berth`]);
    await session.kill();
    await host.asRoot(['pkill', '-9', '-u', user]);
    await gone(user, () => host.asRoot([berth, 'reap']));
  });

  it('of the podmans of a cleanup, one waits for such a file system, until root aborts the FUSE connection', async () => {
    const user = 'fuse-ann';
    const session = await LiveSession.startReady(host, user, 'cat');
    const { uid } = host.account(user);
    await leadAway(user, 'containers');
    await session.kill();
    // The log is shown if it does not come.
    await expect
      .poll(() => host.log(), { timeout: 90_000, interval: 500 })
      .toContain('code=podman-timeout');
    const berth = `${installDirectory}/berth`;
    const podmans = async (): Promise<number> => {
      const threads = await host.asRoot(['ps', '-u', user, '-L', '-o', 'pid,stat,comm']);
      const waiting = threads.stdout.toString().matchAll(/^ *(\d+) D\S* +podman/gm);
      return new Set(Array.from(waiting, ([, pid]) => pid)).size;
    };
    for (let run = 0; run < 3; run += 1) {
      const { exitCode, stderr } = await host.asRoot([berth, 'reap'], { timeout: 120_000 });
      expect(exitCode, stderr).toBe(75);
    }
    const last = await host.asRoot([berth, 'reap'], { timeout: 120_000 });
    expect(last.stderr).toMatch(/was skipped: an earlier one, process \d+, survives/);
    expect(await podmans()).toBe(1);

    await abortFuse(host, user);
    const back = `cd /run/user/${uid} && rm containers && mv containers.away containers`;
    await host.asUser(user, ['sh', '-c', back]);
    await host.asRoot(['pkill', '-9', '-u', user]);
    await gone(user, () => host.asRoot([berth, 'reap']));
  }, 400_000);
});
