import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../rig/wait-for.ts';
import { buildForkChain } from '../../rig/login-node/fork-chain.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';

const cgroupModule = new URL('../../../src/system/cgroup.ts', import.meta.url).pathname;

/** Prints the command lines of a user's new processes that have the host's mounts, until /run/seen-enough exists. */
const watchHost = String.raw`
const { existsSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } = require('fs');
const mounts = readlinkSync('/proc/self/ns/mnt');
const known = new Set(readdirSync('/proc'));
writeFileSync('/run/watching', '');
while (!existsSync('/run/seen-enough'))
  for (const pid of readdirSync('/proc'))
    try {
      if (known.has(pid) || !(pid > 0) || statSync('/proc/' + pid).uid !== Number(process.argv[1])) continue;
      if (readlinkSync('/proc/' + pid + '/ns/mnt') !== mounts) continue;
      known.add(pid);
      console.log(readFileSync('/proc/' + pid + '/cmdline', 'utf8').replaceAll('\0', ' '));
    } catch {}`;

describe('the cgroup of a connection', () => {
  let host: SshHost;
  let uid: number;

  beforeAll(async () => {
    host = await SshHost.start({
      ...{ mode: 'forced', users: { ada: [] } },
      pam: `session optional pam_exec.so quiet ${installDirectory}/hooks/pam-session`,
      profiles: { base: sharedProfile },
    });
    ({ uid } = host.account('ada'));
    const program = 'cat >chain && chmod 755 chain';
    await host.asUser('ada', ['sh', '-c', program], { input: await buildForkChain() });
  });
  afterAll(() => host.stop());
  afterEach(() =>
    waitFor({ what: 'ada to be gone', timeoutMs: 60_000 }, async () => {
      expect(await findLeftovers(host, 'ada')).toEqual(noLeftovers);
      return true;
    }),
  );

  /** The directories of the user's connections. */
  const cgroups = async (): Promise<string[]> => {
    const { stdout } = await host.asRoot([
      'sh',
      '-c',
      `cat /run/berth/cgroups/${uid}/* | xargs -n 1`,
    ]);
    return stdout.toString().trim().split('\n');
  };
  const asUser = (script: string) => host.asUser('ada', ['sh', '-c', script]);

  it("is root's: its user moves no process, freezes and thaws nothing, and makes none below it", async () => {
    const session = await LiveSession.startReady(host, 'ada', 'cat');
    const [directory = ''] = await cgroups();
    const { stdout } = await host.asRoot([
      'sh',
      '-c',
      `ps -o comm= -p "$(paste -sd, ${directory}/cgroup.procs)"`,
    ]);
    expect(stdout.toString()).toMatch(/^cat$/m);
    for (const text of [
      ...['$$ >cgroup.procs', '$$ >cgroup.threads', 'threaded >cgroup.type', '1 >cgroup.freeze'],
      ...[
        '0 >cgroup.freeze',
        '1 >cgroup.kill',
        '+pids >cgroup.subtree_control',
        '$$ >../cgroup.procs',
      ],
    ]) {
      const { exitCode, stderr } = await asUser(`cd ${directory} && echo ${text}`);
      expect(stderr, text).toMatch(/Permission denied|cannot create/);
      expect(exitCode, text).not.toBe(0);
    }
    expect((await asUser(`mkdir ${directory}/own`)).exitCode).toBe(1);
    const own = 'mount -t cgroup2 own /mnt && echo 1 >"/mnt/${0#/sys/fs/cgroup/}/cgroup.freeze"';
    const mounting = [
      'unshare',
      '--user',
      '--map-root-user',
      '--mount',
      'sh',
      '-c',
      own,
      directory,
    ];
    expect((await host.asUser('ada', mounting)).exitCode).not.toBe(0);
    await session.kill();
  });

  it('makes no process with the mounts of the host necessary to end what forks too fast', async () => {
    const other = await LiveSession.startReady(host, 'ada', 'cat');
    const session = await LiveSession.startReady(host, 'ada', '~/chain ~/life & cat');
    const watched = host.asRoot([process.execPath, '-e', watchHost, String(uid)]);
    await host.asRoot(['sh', '-c', 'until [ -e /run/watching ]; do sleep 0.05; done']);
    await session.kill();
    await expect.poll(cgroups).toHaveLength(1);
    await host.asRoot(['touch', '/run/seen-enough']);
    const { stdout } = await watched;
    expect(stdout.toString()).toBe('');
    await other.kill();
  });

  it(
    'is thawed even if the process that froze it is killed, or hangs',
    { timeout: 60_000 },
    async () => {
      const session = await LiveSession.startReady(host, 'ada', 'cat');
      const [directory = ''] = await cgroups();
      const events = `${directory}/cgroup.events`;
      const frozen = async (): Promise<string> => await readFile(host.path(events), 'utf8');
      for (const then of ["process.kill(process.pid, 'SIGKILL')", 'for (;;);']) {
        const script = `import { readFileSync, writeFileSync } from 'node:fs';
        import { whileFrozen } from '${cgroupModule}';
        await whileFrozen('${directory}', async () => {
          writeFileSync('/run/froze', readFileSync('${events}'));
          ${then}
        });`;
        const freezer = host.asRoot([
          'timeout',
          '-s',
          'KILL',
          '25',
          process.execPath,
          '--input-type=module',
          '-e',
          script,
        ]);
        const saw = (): Promise<string> =>
          readFile(host.path('/run/froze'), 'utf8').catch(() => '');
        await expect.poll(saw).toContain('frozen 1');
        await expect.poll(frozen).toContain('frozen 0');
        await writeFile(host.path('/run/froze'), '');
        await freezer;
      }
      session.client.stdin?.write('still here\n');
      await session.waitForOutput('still here');
      await session.kill();
    },
  );
});
