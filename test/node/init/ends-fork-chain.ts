import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { buildForkChain } from '../../rig/login-node/fork-chain.ts';
import { LiveSession, type SshServer } from '../../rig/login-node/live-session.ts';
import type { SystemdHost } from '../../rig/systemd/systemd-host.ts';

const user = 'alice';

/**
 * A connection whose program keeps forking a successor is cut, while another has the same container: the program ends, and
 * the other session goes on.
 */
export async function endsForkChain(host: SystemdHost, server: SshServer): Promise<void> {
  await writeFile(join(host.directory, 'chain'), await buildForkChain());
  await host.script(`install -o ${user} -m 0755 ${host.directory}/chain ~${user}/chain`);
  const profile = '/etc/berth/profiles/minimal.yml';
  await host.script(`cp ${profile} /root/; echo 'lifetime: user' >>${profile}`);
  const life = (): Promise<string> => host.script(`cat ~${user}/life* 2>/dev/null || true`);
  const other = await LiveSession.startReady(server, user, 'cat');
  // One may be killed by chance.
  const chains = 'for each in 1 2 3 4 5 6; do ~/chain ~/life$each & done; cat';
  const session = await LiveSession.startReady(server, user, chains);
  await expect.poll(life).not.toBe('');
  expect(await host.script(`pgrep -u ${user} -cx conmon`)).toBe('1\n');
  const cgroups = `for one in $(pgrep -u ${user}); do cat "/proc/$one/cgroup" || true; done 2>/dev/null | sort -u`;
  expect(await host.script(cgroups)).toMatch(/\/user@\d+\.service\//);
  expect(await host.script(cgroups)).toMatch(/session-\w+\.scope\/berth-\d+\.\d+$/m);
  await session.kill();
  const stays = async (): Promise<boolean> => {
    const before = await life();
    await sleep(500);
    return (await life()) === before;
  };
  await expect.poll(stays).toBe(true);
  expect(await host.script('journalctl --quiet -t berth -p warning')).not.toMatch(/not-killed/);
  other.client.stdin?.write('still here\n');
  await other.waitForOutput('still here');
  await other.kill();
  await host.script(`rm ~${user}/chain ~${user}/life*; mv /root/minimal.yml ${profile}`);
}
