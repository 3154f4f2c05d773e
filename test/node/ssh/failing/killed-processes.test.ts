import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installDirectory } from '../../../rig/site/portal.ts';
import { findLeftovers, noLeftovers } from '../../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../../rig/login-node/live-session.ts';
import { runAsRoot } from '../../../rig/login-node/refused-login.ts';
import { SshHost } from '../../../rig/login-node/ssh-host.ts';
import { seededRandom } from '../../../rig/seeded-random.ts';
import { waitFor } from '../../../rig/wait-for.ts';
import { repetitions } from '../../../rig/soak.ts';

/** As `pkill -KILL -u ada` of an admin: by podman's database the containers still run. */
describe.each([
  ['user', { grace: '0s' }],
  ['connection', {}],
])('after all processes of a user with containers per %s were killed', (lifetime, more) => {
  let host: SshHost;
  beforeAll(async () => {
    const profiles = { base: { image: 'localhost/berth-site:1', lifetime, ...more } };
    host = await SshHost.start({ mode: 'forced', users: { ada: [] }, profiles });
  });
  afterAll(() => host.stop());

  const killAll = async (): Promise<void> => {
    const session = await LiveSession.startReady(host, 'ada', 'cat');
    await host.asRoot(['pkill', '-KILL', '-u', 'ada']);
    await session.kill();
  };
  const answer = async (word: string): Promise<string> => {
    const { stdout, stderr } = await host.ssh('ada', [`echo ${word}`]);
    return stdout.toString() + stderr;
  };

  it('the next login works', async () => {
    await killAll();
    expect(await answer('in')).toBe('in\n');
  });

  it('ten logins at once work', async () => {
    await killAll();
    const words = Array.from({ length: 10 }, (_, index) => `in${index}`);
    expect(await Promise.all(words.map(answer))).toEqual(words.map((word) => `${word}\n`));
  });

  const reaped = (): Promise<void> =>
    expect
      .poll(
        async () => {
          const { exitCode, stderr } = await host.asRoot([`${installDirectory}/berth`, 'reap']);
          expect(exitCode, stderr).toBe(0);
          return findLeftovers(host, 'ada');
        },
        { timeout: 120_000 },
      )
      .toEqual(noLeftovers);

  it('the reaper removes what is left', async () => {
    await killAll();
    await reaped();
  });

  it('also a volume that the database of podman does not have, as after a killed removal', async () => {
    await killAll();
    const { uid } = host.account('ada');
    const volume = `/var/lib/berth-ssh/users/${uid}/storage/volumes/${'4f'.repeat(32)}`;
    await host.asUser('ada', ['mkdir', '-p', `${volume}/_data`]);
    expect((await findLeftovers(host, 'ada')).volumes).toContain('4f'.repeat(32));
    await reaped();
  });
});

describe('when programs of a login are stopped and killed', () => {
  const berth = `${installDirectory}/berth`;
  const container = { image: 'localhost/berth-site:1', pull: 'never', network: 'host' };
  let host: SshHost;
  let records: string;
  beforeAll(async () => {
    host = await SshHost.start({
      ...{ mode: 'forced', users: { ada: [] } },
      // Stops before the hook has looked at anything, if /run/stop exists.
      pam: 'session optional pam_exec.so quiet /bin/sh /etc/stop-and-run-hook',
      etc: {
        'stop-and-run-hook': `[ "$PAM_TYPE" = open_session ] && rm /run/stop 2>&- && echo $$ >/run/stopped && kill -STOP $$
[ "$PAM_TYPE" = open_session ] && read -r delay </run/delay 2>&- &&
  { sleep "$delay"; kill -STOP $$; echo x >>/run/stops; sleep 5; kill -CONT $$; } </dev/null >/dev/null 2>&1 &
exec ${installDirectory}/hooks/pam-session\n`,
      },
      profiles: { base: { ...container, lifetime: 'user', grace: '0s' } },
    });
    records = `/run/berth/connections/${host.account('ada').uid}`;
  });
  afterAll(() => host.stop());

  const asRoot = (script: string): Promise<string> => runAsRoot(host, script);
  const recorded = (): Promise<string[]> => readdir(host.path(records)).catch(() => []);
  const nothingIsListedOrEnded = async (): Promise<void> => {
    const listed = await asRoot(`${berth} sessions list -o json`);
    expect(JSON.parse(listed)).toMatchObject({ sessions: [] });
    await asRoot(`${berth} sessions end --all; ${berth} sessions end --all --user ada`);
  };

  /** Kills the sshd of a login whose hook is stopped, and lets the hook go on. @returns its parent then */
  const orphanHook = async (): Promise<string> => {
    await asRoot('rm -f /run/stopped; touch /run/stop');
    const session = LiveSession.start(host, 'ada', ['true']);
    const script = `until [ -s /run/stopped ]; do sleep 0.02; done; read hook </run/stopped
      until grep -q '^State:.T' /proc/$hook/status; do sleep 0.02; done
      kill -9 "$(ps -o ppid= $hook)"; sleep 0.1; ps -o ppid= $hook; kill -CONT $hook
      while [ -e /proc/$hook ]; do sleep 0.02; done`;
    const parent = await asRoot(script);
    await session.exitCode();
    return parent.trim();
  };

  it('a hook without its sshd records nothing of the first process', async () => {
    expect(await orphanHook()).toBe('1');
    expect(await recorded()).toEqual([]);
    expect(await host.log()).toMatch(/code=pam-session-orphaned user=ada step=open/);
    await nothingIsListedOrEnded();
  });

  it('nor of another process that takes over orphans', async () => {
    await host.stopListening();
    await asRoot('catatonit -- /usr/sbin/sshd -D </dev/null >/dev/null 2>&1 &');
    await waitFor({ what: 'sshd', timeoutMs: 60_000 }, async () =>
      (await host.ssh('ada', ['true'])).exitCode === 0 ? true : undefined,
    );
    // That login has ended.
    await expect.poll(recorded).toEqual([]);
    const reaper = await orphanHook();
    expect(await asRoot(`cat /proc/${reaper}/comm`)).toBe('catatonit\n');
    expect(await recorded()).toEqual([]);
    await nothingIsListedOrEnded();
    // What an earlier version recorded goes with the next run, and the processes stay.
    const ids = await asRoot(
      `for pid in 1 ${reaper} $(cat /run/rsyslogd.pid); do echo $pid.$(sed 's/.*) //' /proc/$pid/stat | cut -d' ' -f20); done`,
    );
    const [first = '', ...others] = ids.trim().split('\n');
    const record = '{"user":"ada","service":"sshd","rhost":"h","tty":"","opened":1}';
    await asRoot(
      `for id in ${[first, `${first}.closing`, ...others].join(' ')}; do echo '${record}' >${records}/$id; done`,
    );
    await nothingIsListedOrEnded();
    await asRoot(`${berth} reap --dry-run`);
    expect(await recorded()).toHaveLength(4);
    await asRoot(`${berth} reap`);
    expect(await recorded()).toEqual([]);
    await asRoot(`kill -0 ${[first, ...others].map((id) => id.split('.')[0]).join(' ')}`);
  });

  it('a hook that is stopped for longer than its limit records the connection all the same', async () => {
    const delays = Array.from({ length: 12 }, (_, index) => (0.03 + index * 0.003).toFixed(3));
    const sessions: LiveSession[] = [];
    for (const [index, delay] of delays.entries()) {
      await asRoot(`echo ${delay} >/run/delay`);
      sessions.push(LiveSession.start(host, 'ada', ['echo ready; exec cat']));
      await asRoot(`until [ "$(cat /run/stops | wc -l)" -gt ${index} ]; do sleep 0.02; done`);
    }
    await asRoot('rm /run/delay');
    for (const session of sessions) await session.waitForOutput('ready');
    expect(await recorded()).toHaveLength(sessions.length);
    for (const session of sessions) await session.kill();
    await expect.poll(recorded).toEqual([]);
  });

  it(`nothing is left after ${repetitions(12, 200)} times at seeded moments`, async () => {
    const random = seededRandom(20261125);
    const listener = (await asRoot('cat /run/sshd.pid')).trim();
    const killed = new Map<string, number>();
    for (let turn = 0; turn < repetitions(12, 200); turn += 1) {
      const session = LiveSession.start(host, 'ada', ['cat']);
      await sleep(random() * 900);
      const programs = await loginPrograms(host, listener);
      const victim = programs[turn % Math.max(1, programs.length)];
      if (victim !== undefined) {
        const { pid, parent, name } = victim;
        killed.set(name, (killed.get(name) ?? 0) + 1);
        const orphan = `kill -STOP ${pid}; kill -9 ${parent}; sleep ${random() / 5}; kill -CONT ${pid}`;
        // The listener has no successor here.
        const script = parent === listener || turn % 3 === 0 ? `kill -9 ${pid}` : orphan;
        await host.asRoot(['sh', '-c', script]);
      }
      await sleep(random() * 300);
      await session.kill();
      for (const id of await recorded()) expect(id).not.toMatch(/^[01]\./);
    }
    expect(killed.get('sshd')).toBeGreaterThan(0);
    await waitFor({ what: 'all to be gone', timeoutMs: 60_000, everyMs: 500 }, async () => {
      await asRoot(`${berth} reap`);
      expect(await findLeftovers(host, 'ada')).toEqual(noLeftovers);
      return true;
    });
    await nothingIsListedOrEnded();
    expect((await host.ssh('ada', ['echo in'])).stdout.toString()).toBe('in\n');
  }, 900_000);
});

interface LoginProgram {
  readonly pid: string;
  readonly parent: string;
  readonly name: string;
}

/** The descendants of the listening sshd, on the host and in containers. */
async function loginPrograms(host: SshHost, listener: string): Promise<LoginProgram[]> {
  const { stdout } = await host.asRoot(['ps', '-eo', 'pid=,ppid=,comm=']);
  const all = stdout
    .toString()
    .trim()
    .split('\n')
    .map((line) => {
      const [pid = '', parent = '', name = ''] = line.trim().split(/ +/);
      return { pid, parent, name };
    });
  const found: LoginProgram[] = [];
  for (const parents = [listener]; parents.length > 0;) {
    const parent = parents.shift();
    const children = all.filter((one) => one.parent === parent);
    found.push(...children);
    parents.push(...children.map(({ pid }) => pid));
  }
  return found;
}
