import { chown, copyFile, readFile, writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';

const root = new URL('../../../', import.meta.url).pathname;

/** The lines of etc/pam.d with the hook of the tests. */
async function pamLines(): Promise<string> {
  const text = await readFile(`${root}etc/pam.d/berth-session`, 'utf8');
  return text.replaceAll('/usr/lib/berth', installDirectory);
}

describe("what root does at a user's open and close", () => {
  let host: SshHost;
  let uid: number;
  let home: string;

  beforeAll(async () => {
    host = await SshHost.start({
      ...{ mode: 'forced', users: { ada: [] }, pam: await pamLines() },
      profiles: { base: sharedProfile },
    });
    await host.asRoot(['mkdir', '-p', '/etc/security']);
    const settings = 'etc/security/berth-pam-env.conf';
    await copyFile(`${root}${settings}`, host.path(`/${settings}`));
    ({ uid, home } = host.account('ada'));
  });
  afterAll(() => host.stop());
  afterEach(async () => {
    await waitFor({ what: 'ada to be gone', timeoutMs: 60_000 }, async () => {
      expect(await findLeftovers(host, 'ada')).toEqual(noLeftovers);
      return true;
    });
  });

  const as = (user: string, script: string) => host.asUser(user, ['sh', '-c', script]);
  const closes = async (): Promise<number> =>
    (await host.log()).split('msg="session closed" user=ada').length - 1;
  const closed = async (work: () => Promise<void>): Promise<void> => {
    const before = await closes();
    await work();
    await expect.poll(closes).toBe(before + 1);
  };

  it("ignores ~/.pam_environment, which Debian's sshd reads", async () => {
    const { gid } = host.account('ada');
    const evil = `require('fs').writeFileSync('${home}/ran-as-' + process.getuid(), '')`;
    const files: Record<string, string> = {
      'evil.cjs': evil,
      '.pam_environment': [
        ...[`NODE_OPTIONS=--require=${home}/evil.cjs`, `NODE_V8_COVERAGE=${home}/coverage`],
        ...[`NODE_COMPILE_CACHE=${home}/cache`, 'LD_DEBUG=libs', `LD_DEBUG_OUTPUT=${home}/loader`],
        ...['PAM_TYPE=close_session', 'PAM_USER=root', 'SEEN=yes', ''],
      ].join('\n'),
    };
    for (const [name, text] of Object.entries(files)) {
      await writeFile(host.path(`${home}/${name}`), text);
      await chown(host.path(`${home}/${name}`), uid, gid);
    }
    await closed(async () => {
      expect((await host.ssh('ada', ['true'])).exitCode).toBe(0);
    });
    // It was read, so the test is meaningful.
    expect(await host.log()).toContain('reading of user environment enabled');
    const { stdout } = await host.asRoot(['find', home, '-user', 'root']);
    expect(stdout.toString()).toBe('');
    expect(await host.log()).not.toMatch(/pam_putenv: delete non-existent/);
    await host.asRoot(['sh', '-c', `rm -rf ${home}/.pam_environment ${home}/evil.cjs`]);
  });

  it('works whatever variables of the loader are set, even to an empty value', async () => {
    const opens = async (): Promise<number> =>
      (await host.log()).split('msg="session opened" user=ada').length - 1;
    const { gid } = host.account('ada');
    const file = host.path(`${home}/.pam_environment`);
    const said = [
      'LD_TRACE_LOADED_OBJECTS=1',
      'LD_TRACE_PRELINKING=1',
      'LD_ASSUME_KERNEL=2.0.0',
      'GLIBC_TUNABLES=glibc.rtld.optional_static_tls=0',
    ];
    for (const line of said) {
      await writeFile(file, `${line}\n`);
      await chown(file, uid, gid);
      const before = await opens();
      await closed(async () => {
        expect((await host.ssh('ada', ['true'])).exitCode).toBe(0);
      });
      expect(await opens(), line).toBe(before + 1);
    }
    expect(await host.log()).not.toMatch(/pam_putenv: delete non-existent/);
    await host.asRoot(['rm', file]);
  });

  it('follows no symbolic link in directories of the user', async () => {
    await host.asRoot(['install', '-d', '-m', '0700', '/root/treasure']);
    await host.asRoot(['sh', '-c', 'echo kept >/root/treasure/berth-base.json']);
    await closed(async () => {
      const session = await LiveSession.startReady(host, 'ada', 'cat');
      const run = `/run/user/${uid}`;
      // Atomically, because another process may be writing there.
      await as('ada', `mv ${run}/berth ${run}/was; ln -s /root/treasure ${run}/berth`);
      await as('ada', `ln -sf /root/treasure/berth-base.json ${run}/libpod/tmp/pause.pid`);
      await session.kill();
    });
    const { stdout } = await host.asRoot(['cat', '/root/treasure/berth-base.json']);
    expect(stdout.toString()).toBe('kept\n');
    await as('ada', `rm -r /run/user/${uid}/berth /run/user/${uid}/was`);
  });

  it('signals no process that the user names in pause.pid, in the environment or in a note', async () => {
    const { stdout } = await host.asRoot(['sh', '-c', 'setsid sleep 7000 >&- 2>&- <&- & echo $!']);
    const victim = stdout.toString().trim();
    await closed(async () => {
      const session = await LiveSession.startReady(host, 'ada', 'cat');
      const run = `/run/user/${uid}`;
      await as('ada', `echo ${victim} >${run}/libpod/tmp/pause.pid`);
      await as('ada', `echo '{"pid":${victim}}' >${run}/berth/berth-base.json`);
      await session.kill();
    });
    expect((await host.asRoot(['kill', '-0', victim])).exitCode).toBe(0);
    await host.asRoot(['kill', victim]);
  });

  it('takes over no directory of another user, and creates none where others can write', async () => {
    const storage = `/var/lib/berth-ssh/users/${uid}`;
    await host.asRoot([
      'sh',
      '-c',
      `mv ${storage} ${storage}.kept; ln -s /root/treasure ${storage}`,
    ]);
    await host.ssh('ada', ['true']);
    expect(await host.log()).toContain('code=directory-unsafe');
    const { stdout } = await host.asRoot(['stat', '-c', '%u %a', '/root/treasure']);
    expect(stdout.toString()).toBe('0 700\n');
    await host.asRoot(['sh', '-c', `rm ${storage}; mv ${storage}.kept ${storage}`]);
    // The hook could not look for containers there.
    await waitFor({ what: 'the reaper to close it', timeoutMs: 60_000 }, async () => {
      await host.asRoot([`${installDirectory}/berth`, 'reap']);
      return (await findLeftovers(host, 'ada')).files.length === 0 || undefined;
    });
  });

  it('refuses users who run the hook themselves', async () => {
    const environment = ['PAM_TYPE=open_session', 'PAM_USER=ada', 'PAM_SERVICE=sshd'];
    const hook = `${installDirectory}/hooks/pam-session`;
    const { exitCode } = await host.asUser('ada', ['env', ...environment, hook]);
    expect(exitCode).toBe(77);
  });
});
