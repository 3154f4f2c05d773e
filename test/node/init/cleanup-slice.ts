import { expect } from 'vitest';
import type { SystemdHost } from '../../rig/systemd/systemd-host.ts';

const scopes = '/sys/fs/cgroup/berth.slice/berth-close.slice/berth-close-*.scope';

/** @param connect opens and closes a connection */
export async function cleansUpInSlice(
  host: SystemdHost,
  connect: () => Promise<unknown>,
): Promise<void> {
  const look = `cat ${scopes}/cgroup.procs | xargs -r ps -o args= -p | grep -E '^[^ ]+/node .*/hooks/pam-session close'`;
  const wait = `until ${look}; do :; done 2>/dev/null`;
  const seen = host.asRoot(['timeout', '30', 'sh', '-c', wait]);
  await connect();
  expect((await seen).stdout.toString()).toMatch(/^\S+\/node .*\/hooks\/pam-session close\n/m);
  const limits = 'systemctl show -p CPUQuotaPerSecUSec,MemoryMax berth-close.slice | sort';
  expect(await host.script(limits)).toBe(`CPUQuotaPerSecUSec=1s\nMemoryMax=${2 ** 29}\n`);
  const list = () => host.script('systemctl list-units berth-close-*.scope');
  await expect.poll(list).toMatch(/^0 /m);
}

/**
 * A process of alice in the scope of root's podman for her, as podman starts a hook that a user has added to a container, where it does
 * not find the bus of the user's manager.
 *
 * @param connect opens and closes a connection of alice
 */
export async function endsLeftInScope(
  host: SystemdHost,
  connect: () => Promise<unknown>,
): Promise<void> {
  const podmans = '/sys/fs/cgroup/berth.slice/berth-users.slice/berth-user-*.scope';
  const show = "systemctl show -p MemoryMax,TasksMax 'berth-user-*.scope' | sort -u | xargs";
  const limits = host.script(`until ${show} | grep 256$; do :; done`);
  const scope = host.script(`setsid runuser -u alice -- sleep 54321 </dev/null >/dev/null 2>&1 &
    until process=$(pgrep -xu alice sleep); do :; done
    until for one in ${podmans}; do echo $process >$one/cgroup.procs; done; do :; done 2>/dev/null
    echo $one`);
  await connect();
  expect(await scope).toMatch(/berth-user-\d+-[0-9a-f]{8}[.]scope$/m);
  expect(await limits).toBe(`MemoryMax=${2 ** 28} TasksMax=256\n`);
  const together = 'systemctl show -p MemoryMax,TasksMax berth-users.slice | xargs';
  expect(await host.script(together)).toBe(`MemoryMax=${2 ** 31} TasksMax=4096\n`);
  await expect.poll(() => host.script('pgrep -xu alice sleep || true')).toBe('');
  await expect.poll(() => host.script(`ls -d ${podmans} || true`)).toBe('');
}
