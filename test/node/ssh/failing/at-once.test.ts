import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installDirectory } from '../../../rig/site/portal.ts';
import { SshHost } from '../../../rig/login-node/ssh-host.ts';
import { runAsRoot } from '../../../rig/login-node/refused-login.ts';

describe('logins at the same moment', () => {
  let host: SshHost;
  beforeAll(async () => {
    host = await SshHost.start({
      mode: 'login-shell',
      users: { ada: [], bob: [] },
      // Enough for 50 logins on a small machine under load.
      profiles: { base: { image: 'localhost/berth-site:1', lifetime: 'user', deadline: '2m' } },
    });
  });
  afterAll(() => host.stop());

  it.each([
    ['ada', 2],
    ['bob', 50],
  ] as const)(
    '%s: %d start one container and all succeed',
    { timeout: 300_000 },
    async (user, count) => {
      const logins = Array.from({ length: count }, (_, index) =>
        host.ssh(user, [`echo ${index}; cat /proc/1/stat | cut -d" " -f22`], { timeout: 240_000 }),
      );
      const ends = await Promise.all(logins);
      const starts = new Set<string | undefined>();
      for (const [index, { exitCode, stdout, stderr }] of ends.entries()) {
        const [said, start] = stdout.toString().split('\n');
        expect({ exitCode, said, stderr }).toEqual({
          exitCode: 0,
          said: String(index),
          stderr: '',
        });
        starts.add(start);
      }
      expect(starts.size).toBe(1);
      // Clients end before sshd has closed their sessions; what waits for long on a busy machine is left to the reaper.
      const notes = `ls /run/user/${host.account(user).uid}/berth`;
      await expect
        .poll(() => runAsRoot(host, `${installDirectory}/berth reap >&2; ${notes}`), {
          timeout: 120_000,
        })
        .toBe('berth-base.json\nberth-base.pid\n');
      expect(await runAsRoot(host, `pgrep -c -u ${user} conmon`)).toBe('1\n');
    },
  );
});
