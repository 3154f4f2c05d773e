import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { HostStatus } from '../../../src/cli/status/host-status.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { berthDocument } from '../../rig/berth-document.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { SystemdHost } from '../../rig/systemd/systemd-host.ts';

const berth = join(installDirectory, 'berth');
const units = new URL('../../../etc/systemd', import.meta.url).pathname;
let host: SystemdHost;

beforeAll(async () => {
  const { admin } = await freePorts(['admin']);
  const options = { name: 'timers', address: '127.18.2.9', adminKey: '' };
  host = await SystemdHost.boot({ ...options, adminPort: admin });
  await host.script(`cp -r ${units}/berth-* /etc/systemd/system
    sed -i 's,/usr/lib/berth/,${installDirectory}/,' /etc/systemd/system/berth-*.service
    mkdir -p /etc/berth/profiles
    echo 'rules: [{ profile: base }]' >/etc/berth/ssh.yml
    echo 'image: localhost/x' >/etc/berth/profiles/base.yml
    systemctl daemon-reload`);
});
afterAll(() => host.stop());

async function status(): Promise<HostStatus> {
  const { stdout } = await host.asRoot([berth, 'status', '-o', 'json']);
  return berthDocument(stdout.toString()) as HostStatus;
}

it('knows the timers of systemd, their last runs and the next, and the socket of a hub', async () => {
  const before = await status();
  expect(before.roles).not.toContain('hub');
  expect(before.timers.length).toBeGreaterThan(5);
  for (const timer of before.timers)
    expect(timer).toMatchObject({ status: 'skipped', active: false, lastRun: null, nextRun: null });

  // The images cannot be pulled, there is no ldap-sync.yml, and a timer of a template has an instance.
  await host.script(`systemctl enable --quiet berth-hub.socket
    systemctl enable --quiet --now berth-{reap,ldap-sync,images,slurm-sync,token-rotate@ldap-sync}.timer
    systemctl stop berth-slurm-sync.timer
    systemctl start berth-reap; systemctl start berth-ldap-sync; systemctl start berth-images || true`);
  const { ok, roles, timers } = await status();
  expect([ok, roles.includes('hub')]).toEqual([false, true]);
  const seen = (name: string) => timers.find((one) => one.name === name);
  expect(seen('berth-reap')).toMatchObject({
    ...{ status: 'ok', enabled: true, active: true, running: false },
    ...{ result: 'success', exitStatus: 0 },
  });
  expect(seen('berth-images')).toMatchObject({ status: 'failed', result: 'exit-code' });
  expect(seen('berth-ldap-sync')).toMatchObject({ status: 'skipped', result: 'condition' });
  expect(seen('berth-slurm-sync')).toMatchObject({
    status: 'warning',
    enabled: true,
    active: false,
  });
  expect(seen('berth-token-rotate')).toMatchObject({ status: 'skipped', active: false });
  expect(seen('berth-token-rotate@ldap-sync')).toMatchObject({ status: 'ok', lastRun: null });
  const age = Date.now() - Date.parse(seen('berth-reap')?.lastRun ?? '');
  expect(age).toBeGreaterThanOrEqual(0);
  expect(age).toBeLessThan(60_000);

  // One is by the calendar, one counts from the last run.
  const lists = await host.script('TZ=UTC systemctl list-timers --all --no-pager berth-*');
  for (const name of ['berth-reap', 'berth-images', 'berth-token-rotate@ldap-sync']) {
    const next = new RegExp(`^\\w+ (\\S+ \\S+ UTC) .*${name}\\.timer`, 'm').exec(lists)?.[1] ?? '';
    const differs = Date.parse(seen(name)?.nextRun ?? '') - Date.parse(next);
    expect(Math.abs(differs), `${name}: ${lists}`).toBeLessThanOrEqual(1_000);
  }

  const { stdout } = await host.asRoot([berth, 'status']);
  const text = stdout.toString();
  expect(text).toMatch(/\n {2}✓ reap +done \d+ s ago; next in \d+ s\n/);
  expect(text).toMatch(
    /✗ images +failed \d+ s ago \(exit-code \d+\); next in .*\n +next: journalctl -u/,
  );
  expect(text).toMatch(/\n {2}! slurm-sync +has not run since the boot; the timer is stopped\n/);
  expect(text).toMatch(/\n {2}- off +cluster-reap, clusters-discover,/);
});
