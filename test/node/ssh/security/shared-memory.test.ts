import { afterAll, beforeAll, expect, it } from 'vitest';
import { SshHost } from '../../../rig/login-node/ssh-host.ts';

let host: SshHost;
beforeAll(async () => {
  host = await SshHost.start({
    mode: 'forced',
    users: { ada: [], bob: [] },
    profiles: { base: { image: 'localhost/berth-site:1', lifetime: 'user' } },
  });
});
afterAll(() => host.stop());

it("another user's file in /dev/shm, where everybody may write, keeps nobody out", async () => {
  const locks = `/dev/shm/libpod_rootless_lock_${host.account('bob').uid}`;
  await host.asUser('ada', ['touch', locks]);
  try {
    const { exitCode, stdout, stderr } = await host.ssh('bob', ['echo in the session']);
    expect([exitCode, stdout.toString(), stderr]).toEqual([0, 'in the session\n', '']);
  } finally {
    await host.asRoot(['rm', locks]);
  }
});
