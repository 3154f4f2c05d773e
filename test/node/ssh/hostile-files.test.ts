import { readdir, readFile, writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { soak } from '../../rig/soak.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { findLeftovers, noLeftovers, processesOf } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';

/** What a user can create in the place of a file: `$1` is its path. */
const plants = {
  'a FIFO': 'mkfifo "$1"',
  'a link to /dev/zero': 'ln -s /dev/zero "$1"',
  'a sparse file of 8 GiB': 'truncate -s 8G "$1"',
  'a directory': 'mkdir "$1"',
  'a socket': `cd "$(dirname "$1")" && perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1) or die' "$(basename "$1")"`,
  'a link to itself': 'ln -s "$1" "$1"',
  'a directory of 100,000 files': 'mkdir "$1" && cd "$1" && seq 100000 | xargs touch',
} as const;

/**
 * `npm test` tries blocking and endless files at each place, and other kinds at one place; `npm run test:soak` tries
 * every kind at every place. Creating a hundred thousand files takes half a minute.
 */
const quickKinds = Object.entries(plants).filter(
  ([kind]) => soak || kind !== 'a directory of 100,000 files',
);

/** Files and directories of a user that root reads, or that podman reads for root. */
const places = {
  'what a login notes': [
    'run/libpod/tmp/pause.pid',
    'run/berth/berth-base.json',
    'run/berth/berth-base.lock',
  ],
  "the store's list of containers": ['store/overlay-containers/containers.json'],
  "the store's layers and volumes": ['store/overlay-layers/layers.json', 'store/volumes'],
  'the directory of notes': ['run/berth'],
} as const;

/** Memory of root's programs; Node itself takes a hundred MiB. Bytes. */
const mostMemory = 300 * 1024 * 1024;
/** Memory of podman, as the user, with such files, before it is stopped. Bytes. */
const mostOfPodman = 700 * 1024 * 1024;
/** How long one user may delay the cleanup of the next one, and the close of a connection. Milliseconds. */
const longestTurn = 70_000;
const longestClose = 45_000;
/** How long a lock that nobody holds is waited for. Milliseconds. */
const longestLogin = 45_000;

/**
 * With a forced command, ~/.bashrc runs on the host before it, so users can create all of these files even if they have
 * no shell on the host.
 */
describe('files that a user puts where root reads', () => {
  let host: SshHost;
  /** The user who is handled first. */
  let mallory: string;
  let next: string;

  beforeAll(async () => {
    host = await SshHost.start({
      ...{ mode: 'forced', users: { ada: [], bob: [] } },
      profiles: { base: sharedProfile },
    });
    [mallory = '', next = ''] = ['ada', 'bob'].sort(
      (a, b) => host.account(a).uid - host.account(b).uid,
    );
  });
  afterAll(() => host.stop());
  afterEach(async () => {
    const { uid, home } = host.account(mallory);
    const own = [`/run/user/${uid}/*`, `/var/lib/berth-ssh/users/${uid}/*`, `${home}/.bashrc`];
    await host.asRoot(['pkill', '-9', '-u', mallory]);
    await host.asRoot(['sh', '-c', `rm -rf ${own.join(' ')} /run/berth/connections/${uid}/*`]);
  });

  /** Runs the script from ~/.bashrc, as an attacker would; the connection gets no session after it. */
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
    await host.asRoot(['rm', `${home}/.bashrc`]);
  };

  const monitorsOf = async (user: string): Promise<string[]> =>
    (await readdir(host.path(`/run/berth/connections/${host.account(user).uid}`)).catch(() => []))
      .filter((name) => /^\d+\.\d+$/.test(name))
      .map((name) => name.replace(/\..*/, ''));

  /** Creates what a killed sshd leaves of a connection. */
  const orphan = async (user: string): Promise<void> => {
    await LiveSession.startReady(host, user, 'sleep 1000');
    await host.asRoot(['kill', '-9', ...(await monitorsOf(user))]);
  };

  for (const [index, [kind, script]] of Object.entries(plants).entries())
    for (const [where, targets] of Object.entries(places).filter(
      (_, place) => soak || index < 2 || place === index % Object.keys(places).length,
    ))
      it(`do not delay the cleanup for other users: ${kind} as ${where}`, async () => {
        await orphan(next);
        await LiveSession.startReady(host, mallory, 'sleep 1000');
        await plant(script, targets);
        await host.asRoot(['kill', '-9', ...(await monitorsOf(mallory))]);

        const watch = watchMemory(host, /\/berth$/);
        const podman = watchMemory(host, /^(?:rm|prune|unshare)$/);
        const began = performance.now();
        const { stderr } = await host.asRoot([`${installDirectory}/berth`, 'reap'], {
          timeout: 150_000,
        });

        expect(performance.now() - began, stderr).toBeLessThan(longestTurn);
        expectBounded(await watch.end());
        expect(await podman.end(), 'podman').toBeLessThan(mostOfPodman);
        expect(await findLeftovers(host, next)).toEqual(noLeftovers);
        expect(await processesOf(host, mallory)).toEqual([]);
      });

  for (const [kind, script] of quickKinds)
    it(`do not delay the close of a connection: ${kind}`, async () => {
      const before = await closes(host, mallory);
      const session = await LiveSession.startReady(host, mallory, 'sleep 1000');
      await plant(script, Object.values(places).flat().slice(0, -1));
      const watch = watchMemory(host, /\/pam-session$/);
      const began = performance.now();
      await session.kill();
      await waitFor({ what: 'the close', timeoutMs: 60_000 }, async () =>
        (await closes(host, mallory)) >= before + 2 ? true : undefined,
      );
      expect(performance.now() - began).toBeLessThan(longestClose);
      expectBounded(await watch.end());
      expect(await processesOf(host, mallory)).toEqual([]);
    });

  // A directory in the place of a lock is waited for like a lock, for half a minute.
  for (const [kind, script] of quickKinds.filter(([kind]) => soak || kind !== 'a directory'))
    it(`do not make the user's own login use much memory: ${kind}`, async () => {
      await plant(script, places['what a login notes']);
      const watch = watchMemory(host, /\/login$|(^|\/)podman$/);
      const began = performance.now();
      const { stderr } = await host.ssh(mallory, ['true'], { timeout: 60_000 });
      expect(performance.now() - began, stderr).toBeLessThan(longestLogin);
      expectBounded(await watch.end());
    });
});

/** It was running, and its memory stayed below the limit. */
function expectBounded(memory: number): void {
  expect(memory).toBeGreaterThan(0);
  expect(memory).toBeLessThan(mostMemory);
}

const closes = async (host: SshHost, user: string): Promise<number> =>
  (await host.log()).split(`msg="session closed" user=${user}`).length - 1;

/** The largest memory of a process with this name, sampled continuously. */
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
