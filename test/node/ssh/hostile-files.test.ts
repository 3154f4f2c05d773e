import { readdir, readFile, writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { installed } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/site/wait.ts';
import { soak } from '../../rig/soak.ts';
import { SshHost } from '../../rig/node/ssh-host.ts';
import { leftOver, nothingLeft, processesOf } from '../../rig/node/left-over.ts';
import { LiveSession } from '../../rig/node/live-session.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

/** What a user can make in a file's place: `$1` is its path. Each ends with 0. */
const plants = {
  'a FIFO': 'mkfifo "$1"',
  'a link to /dev/zero': 'ln -s /dev/zero "$1"',
  'a sparse file of 8 GiB': 'truncate -s 8G "$1"',
  'a folder': 'mkdir "$1"',
  'a socket': `cd "$(dirname "$1")" && perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1) or die' "$(basename "$1")"`,
  'a link to itself': 'ln -s "$1" "$1"',
  'a folder of 100,000 files': 'mkdir "$1" && cd "$1" && seq 100000 | xargs touch',
} as const;

/**
 * `npm test` tries what waits and what never ends at each place and each other kind at one of them;
 * `npm run test:soak` every kind at every place. A hundred thousand files take half a minute to plant.
 */
const quickKinds = Object.entries(plants).filter(
  ([kind]) => soak || kind !== 'a folder of 100,000 files',
);

/** The files and folders below a user's own that root reads, or has read. */
const places = {
  'what a login notes': [
    'run/libpod/tmp/pause.pid',
    'run/berth/berth-base.json',
    'run/berth/berth-base.lock',
  ],
  "the store's list of containers": ['store/overlay-containers/containers.json'],
  "the store's layers and volumes": ['store/overlay-layers/layers.json', 'store/volumes'],
  'the folder of notes': ['run/berth'],
} as const;

/** Root's programs are Node; a hundred MiB are its own. Bytes. */
const mostMemory = 300 * 1024 * 1024;
/** What podman itself makes of such files, as the user, before it is stopped. */
const mostOfPodman = 700 * 1024 * 1024;
/** What one user may cost before the next one's turn comes, and sshd in a close. Milliseconds. */
const longestTurn = 70_000;
const longestClose = 45_000;
/** A lock that nobody holds is waited for. */
const longestLogin = 45_000;

/**
 * In forced mode ~/.bashrc runs on the host before the forced command: all of this a user can plant
 * although there is no shell on the host for anybody.
 */
describe('files that a user puts where root reads', () => {
  let host: SshHost;
  /** The one whose turn is first. */
  let mallory: string;
  let next: string;

  beforeAll(async () => {
    host = await SshHost.start({
      ...{ mode: 'forced', users: { ada: [], bob: [] } },
      profiles: {
        base: {
          ...{ image: 'localhost/berth-site:1', pull: 'never', network: 'host' },
          ...{ lifetime: 'user', grace: '0s', mounts: [{ source: '$HOME' }] },
        },
      },
    });
    [mallory = '', next = ''] = ['ada', 'bob'].sort(
      (a, b) => host.account(a).uid - host.account(b).uid,
    );
  });
  afterAll(() => host.stop());
  afterEach(async () => {
    const { uid, home } = host.account(mallory);
    const own = [`/run/user/${uid}/*`, `/var/lib/berth-ssh/users/${uid}/*`, `${home}/.bashrc`];
    await host.inside(['pkill', '-9', '-u', mallory]);
    await host.inside(['sh', '-c', `rm -rf ${own.join(' ')} /run/berth/connections/${uid}/*`]);
    await host.inside(['rm', '-f', `/dev/shm/libpod_rootless_lock_${uid}`]);
  });

  /** By ~/.bashrc, as the attack would; the connection has no session after it. */
  const plant = async (script: string, targets: readonly string[]): Promise<void> => {
    const { uid, home } = host.account(mallory);
    const roots = { run: `/run/user/${uid}`, store: `/var/lib/berth-ssh/users/${uid}/storage` };
    const paths = targets.map((target) =>
      target.replace(/^(run|store)/, (name) => roots[name as keyof typeof roots]),
    );
    const lines = paths.map((path) => `plant '${path}' || fail=1`);
    const text = [
      'plant() {',
      '  mkdir -p "$(dirname "$1")" && if [ -e "$1" ]; then mv -T "$1" "$1.away"; fi &&',
      `  ( ${script} )`,
      '}',
      ...['fail=0', ...lines, 'echo "planted $fail"', 'exit 0', ''],
    ].join('\n');
    await writeFile(host.path(`${home}/.bashrc`), text, { mode: 0o644 });
    const { stdout, stderr } = await host.ssh(mallory, ['true'], { timeout: 100_000 });
    expect(stdout.toString(), stderr).toBe('planted 0\n');
    await host.inside(['rm', `${home}/.bashrc`]);
  };

  const monitorsOf = async (user: string): Promise<string[]> =>
    (await readdir(host.path(`/run/berth/connections/${host.account(user).uid}`)).catch(() => []))
      .filter((name) => /^\d+\.\d+$/.test(name))
      .map((name) => name.replace(/\..*/, ''));

  /** What a killed sshd leaves of a connection. */
  const orphan = async (user: string): Promise<void> => {
    await LiveSession.ready(host, user, 'sleep 1000');
    await host.inside(['kill', '-9', ...(await monitorsOf(user))]);
  };

  for (const [index, [kind, script]] of Object.entries(plants).entries())
    for (const [where, targets] of Object.entries(places).filter(
      (_, place) => soak || index < 2 || place === index % Object.keys(places).length,
    ))
      it(`do not delay the cleanup for other users: ${kind} as ${where}`, async () => {
        await orphan(next);
        await LiveSession.ready(host, mallory, 'sleep 1000');
        await plant(script, targets);
        await host.inside(['kill', '-9', ...(await monitorsOf(mallory))]);

        const watch = watchMemory(host, /\/berth$/);
        const podman = watchMemory(host, /^(?:rm|prune|unshare)$/);
        const began = performance.now();
        const { stderr } = await host.inside([`${installed}/berth`, 'reap'], { timeout: 150_000 });

        expect(performance.now() - began, stderr).toBeLessThan(longestTurn);
        expectBounded(await watch.end());
        expect(await podman.end(), 'podman').toBeLessThan(mostOfPodman);
        expect(await leftOver(host, next)).toEqual(nothingLeft);
        expect(await processesOf(host, mallory)).toEqual([]);
      });

  for (const [kind, script] of quickKinds)
    it(`do not delay the close of a connection: ${kind}`, async () => {
      const before = await closes(host, mallory);
      const session = await LiveSession.ready(host, mallory, 'sleep 1000');
      await plant(script, Object.values(places).flat().slice(0, -1));
      const watch = watchMemory(host, /\/pam-session$/);
      const began = performance.now();
      await session.cut();
      await waitFor({ what: 'the close', timeoutMs: 60_000 }, async () =>
        (await closes(host, mallory)) >= before + 2 ? true : undefined,
      );
      expect(performance.now() - began).toBeLessThan(longestClose);
      expectBounded(await watch.end());
      expect(await processesOf(host, mallory)).toEqual([]);
    });

  // A folder in the place of a lock is waited for, as a lock is: half a minute.
  for (const [kind, script] of quickKinds.filter(([kind]) => soak || kind !== 'a folder'))
    it(`do not make the user's own login use much memory: ${kind}`, async () => {
      await plant(script, places['what a login notes']);
      const watch = watchMemory(host, /\/login$|(^|\/)podman$/);
      const began = performance.now();
      const { stderr } = await host.ssh(mallory, ['true'], { timeout: 60_000 });
      expect(performance.now() - began, stderr).toBeLessThan(longestLogin);
      expectBounded(await watch.end());
    });
});

/** It was seen, and never was larger. */
function expectBounded(memory: number): void {
  expect(memory).toBeGreaterThan(0);
  expect(memory).toBeLessThan(mostMemory);
}

const closes = async (host: SshHost, user: string): Promise<number> =>
  (await host.log()).split(`msg="session closed" user=${user}`).length - 1;

/** The most memory that a process of this name had, looked at again and again. */
function watchMemory(host: SshHost, name: RegExp): { readonly end: () => Promise<number> } {
  let most = 0;
  let over = false;
  const look = async (): Promise<void> => {
    while (!over) {
      for (const pid of await readdir(host.path('/proc')).catch(() => [])) {
        if (!/^\d+$/.test(pid)) continue;
        const words = await readFile(host.path(`/proc/${pid}/cmdline`), 'utf8').catch(() => '');
        if (!words.split('\0').some((word) => name.test(word))) continue;
        const status = await readFile(host.path(`/proc/${pid}/status`), 'utf8').catch(() => '');
        most = Math.max(most, Number(/^VmHWM:\s*(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const looking = look();
  return {
    end: async () => {
      over = true;
      await looking;
      return most;
    },
  };
}
