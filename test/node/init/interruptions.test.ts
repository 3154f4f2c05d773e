import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { InitHost } from '../../rig/login-node/init-host.ts';
import { ensureCommand } from '../../rig/site/debian-packages.ts';

/** Makes the host what it was before the first run. */
const fresh = `umount -q /etc/berth || true
  rm -rf /etc/berth /etc/ssh/berth /etc/subuid /etc/subgid /root/pam.d-sshd.before-berth
  rm -f /etc/security/berth-pam-env.conf; mkdir /etc/berth
  cp -p /run/before/sshd /etc/pam.d/sshd; cp -p /run/before/passwd /run/before/group /etc/`;

let host: InitHost;
let words: string;
beforeAll(async () => {
  await ensureCommand('strace', 'strace');
  host = await InitHost.start();
  words = `login-node --yes --image localhost/berth-site:1 --user alice --port ${host.port} --pull no --start no`;
  await host.shell(`mkdir /run/before
    groupdel berth 2>/dev/null || true
    cp -p /etc/pam.d/sshd /etc/passwd /etc/group /run/before`);
});
beforeEach(async () => {
  await host.shell(fresh);
});
afterAll(() => host.stop());

/** What a run that nothing disturbs leaves, after a fresh start; the host is fresh again then. */
async function undisturbed(): Promise<string> {
  const { exitCode, stdout, stderr } = await host.init(words);
  expect(exitCode, stdout + stderr).toBe(0);
  const state = await host.state();
  await host.shell(fresh);
  return state;
}

/** Every file is the old one, the new one, or absent, and the copy of sshd's PAM file is there before the new one. */
async function expectNothingHalfWritten(before: string, after: string): Promise<void> {
  const known = new Set([...before.split('\n'), ...after.split('\n')]);
  for (const line of (await host.state()).split('\n'))
    // The temporary file of a killed writer is hidden, and the next writer of the file removes it.
    if (!/\/\.[^/]*\.berth-/.test(line)) expect(known).toContain(line);
  const { stdout } = await host.shell(`cmp -s /etc/pam.d/sshd /run/before/sshd && echo same ||
    cmp /root/pam.d-sshd.before-berth /run/before/sshd && echo kept`);
  expect(stdout).toMatch(/^(?:same|kept)\n/);
}

describe('berth init login-node', () => {
  it(
    'that is killed before any of its writes is completed by the next run',
    { timeout: 240_000 },
    async () => {
      const before = await host.state();
      const after = await undisturbed();
      let kills = 0;
      for (;;) {
        // One thread for files, so that the count is that of the process. Programs that it runs count for themselves.
        const strace = `UV_THREADPOOL_SIZE=1 strace -f -o /dev/null -e trace=rename -e inject=rename:signal=KILL:when=${kills + 1}`;
        const { exitCode } = await host.init(words, strace);
        await expectNothingHalfWritten(before, after);
        if (exitCode === 0) break;
        kills += 1;
        const again = await host.init(words);
        expect(again.exitCode, again.stdout + again.stderr).toBe(0);
        expect(await host.state()).toBe(after);
        await host.shell(fresh);
      }
      // The profile, ssh.yml, PAM's environment, the copy of sshd's PAM file, that file; and in programs of their own more.
      expect(kills).toBeGreaterThanOrEqual(5);
      expect(kills).toBeLessThan(20);
    },
  );

  it('is completed by the next run after one of its programs was killed', async () => {
    const after = await undisturbed();
    for (const program of ['groupadd', 'usermod']) {
      const strace = `strace -f -o /dev/null -P /usr/sbin/${program} -e trace=execve -e inject=execve:signal=KILL`;
      const killed = await host.init(words, strace);
      expect(killed.stderr).toMatch(new RegExp(`${program} .*ended with .*\\[init-step-failed\\]`));
      expect(killed.exitCode).toBe(69);
    }
    const again = await host.init(words);
    expect(again.exitCode, again.stdout + again.stderr).toBe(0);
    expect(await host.state()).toBe(after);
  });

  it('says that the disk is full, leaves no part of a file, and goes on when there is room', async () => {
    const before = await host.state();
    const after = await undisturbed();
    // One page: the profile fits, ssh.yml does not.
    await host.shell('mount -t tmpfs -o mode=0755,size=4k tmpfs /etc/berth');
    const full = await host.init(words);
    expect(full.exitCode).not.toBe(0);
    expect(full.stderr).toMatch(
      /\/etc\/berth\/\S+ cannot be written: the disk is full \[disk-full\]/,
    );
    await expectNothingHalfWritten(before, after);
    expect((await host.shell('find /etc/berth -name ".*berth-*"')).stdout).toBe('');
    await host.shell('mount -o remount,size=1m /etc/berth');
    const again = await host.init(words);
    expect(again.exitCode, again.stdout + again.stderr).toBe(0);
    expect(await host.state()).toBe(after);
  });

  it('lets only one of two at once write', async () => {
    const after = await undisturbed();
    const [one, other] = await Promise.all([host.init(words), host.init(words)]);
    expect(await host.state()).toBe(after);
    const failed = [one, other].filter(({ exitCode }) => exitCode !== 0);
    expect(failed.length, one.stdout + other.stdout).toBeLessThanOrEqual(1);
    for (const { stderr, exitCode } of failed) {
      expect(exitCode).toBe(75);
      expect(stderr).toMatch(/\[init-(?:running|file-changed)\]/);
    }
    expect((await host.shell('ls -A /root')).stdout).toBe('pam.d-sshd.before-berth\n');
  });
});
