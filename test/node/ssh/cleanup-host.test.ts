import { chown, readdir, writeFile } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { installDirectory } from '../../rig/site/portal.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { findLeftovers } from '../../rig/login-node/leftovers.ts';
import { run } from '../../../src/companions/verify/run-client.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';

describe('at the close of a connection', () => {
  let host: SshHost | undefined;
  afterEach(() => host?.stop());

  const start = async (words: string): Promise<SshHost> => {
    const hook = `pam_exec.so quiet ${installDirectory}/hooks/pam-session${words}`;
    host = await SshHost.start({
      ...{ mode: 'forced', users: { ada: [] }, pam: `session optional ${hook}` },
      sshd: 'X11Forwarding yes',
      profiles: { base: sharedProfile },
    });
    return host;
  };
  const closes = async (): Promise<number> =>
    ((await host?.log()) ?? '').split('msg="session closed" user=ada').length - 1;

  it.each([
    ['is left alone', '', 1],
    ["is ended where root's line says so", ' --host-processes', 0],
  ])('what ~/.bashrc started on the host %s', async (_, words, left) => {
    const on = await start(words);
    const { home, uid, gid } = on.account('ada');
    const file = on.path(`${home}/.bashrc`);
    await writeFile(file, 'setsid sleep 8000 >&- 2>&- <&- &\n');
    await chown(file, uid, gid);
    const session = await LiveSession.startReady(on, 'ada', 'cat');
    await session.kill();
    await expect.poll(closes).toBe(1);
    const { processes } = await findLeftovers(on, 'ada');
    expect(processes.filter((line) => line.endsWith(' sleep 8000'))).toHaveLength(left);
  });

  it('sshd that waits for a FIFO in the home is ended, and starts no session after that', async () => {
    const on = await start('');
    const { uid } = on.account('ada');
    await on.ssh('ada', ['mkfifo ~/.Xauthority']);
    const words = [...on.clientOptions('ada'), '-p', String(on.port), '-Y', 'ada@127.0.0.1'];
    const opening = run('ssh', [...words, 'touch ~/late'], { env: { DISPLAY: ':99' } });
    await waitFor(
      { what: 'xauth', timeoutMs: 60_000, everyMs: 50 },
      async () =>
        (await on.asRoot(['pgrep', '-u', 'ada', '-x', 'xauth'])).exitCode === 0 || undefined,
    );
    const [record = ''] = await readdir(on.path(`/run/berth/connections/${uid}`));
    await on.asRoot(['pkill', '-P', record.replace(/\..*/, '')]);
    await opening;
    await expect.poll(async () => (await findLeftovers(on, 'ada')).processes).toEqual([]);
    const release = 'timeout 2 sh -c ": >~/.Xauthority"; rm ~/.Xauthority; sleep 1; ls ~';
    expect((await on.ssh('ada', [release])).stdout.toString()).not.toContain('late');
  });

  it('a new login at the same moment gets its session', async () => {
    const on = await start('');
    const removals = async (): Promise<number> =>
      (await on.log()).match(/msg="session closed".* containers=1/g)?.length ?? 0;
    // Each other login waits for the close before it: closes come late on a busy machine, and never remove anything if the next is there.
    for (let round = 0; round < 8; round += 1) {
      if (round % 2 === 0) await expect.poll(closes).toBe(round);
      const { exitCode, stderr } = await on.ssh('ada', ['true']);
      expect(exitCode, stderr).toBe(0);
    }
    await expect.poll(removals).toBeGreaterThan(1);
  });
});
