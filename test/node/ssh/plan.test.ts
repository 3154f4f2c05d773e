import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import type { SessionPlan } from '../../../src/login/open/plan-session.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';

let host: SshHost;
beforeAll(async () => {
  host = await SshHost.start({
    mode: 'forced',
    users: { ada: [], eve: [] },
    sshYml: { rules: [{ profile: 'base', users: ['ada'] }] },
  });
});
afterAll(() => host.stop());
// In a user namespace that podman still has, a login needs no newuidmap.
beforeEach(async () => {
  await expect.poll(() => findLeftovers(host, 'ada')).toEqual(noLeftovers);
});

async function root(script: string): Promise<void> {
  const { exitCode, stderr } = await host.asRoot(['sh', '-ec', script]);
  if (exitCode !== 0) throw new Error(`${script}: ${stderr}`);
}

async function plan(user: string): Promise<{ exitCode: number | undefined; plan: SessionPlan }> {
  const words = ['plan', '--ssh', '--user', user, '-o', 'json'];
  const { exitCode, stdout, stderr } = await host.asRoot([
    join(installDirectory, 'berth'),
    ...words,
  ]);
  if (stdout.length === 0) throw new Error(stderr);
  return { exitCode, plan: berthDocument(stdout.toString()) as SessionPlan };
}

describe('plan --ssh predicts what the login does', () => {
  it('given a complete host: a session', async () => {
    const { exitCode, plan: planned } = await plan('ada');

    expect(planned.obstacles).toEqual([]);
    expect(exitCode).toBe(0);
    expect((await host.ssh('ada', ['true'])).exitCode).toBe(0);
  });

  it('given a user without a rule: no session', async () => {
    const { exitCode, plan: planned } = await plan('eve');

    expect(planned).toMatchObject({ outcome: 'refused', obstacles: [] });
    expect(exitCode).toBe(77);
    expect((await host.ssh('eve', ['true'])).exitCode).toBe(255);
  });

  it('given an sshd that does not admit the user: no session', async () => {
    const reload = 'kill -HUP "$(cat /run/sshd.pid)"';
    const config = '/etc/ssh/sshd_config';
    await root(`cp -p ${config} /run/before; sed -i '1i AllowGroups physics' ${config}; ${reload}`);
    const { exitCode, plan: planned } = await plan('ada');
    expect(planned.obstacles).toMatchObject([
      { id: 'user-access', message: expect.stringContaining('AllowGroups') as string },
    ]);
    expect(exitCode).toBe(69);
    await expect
      .poll(async () => (await host.ssh('ada', ['true'])).stderr)
      .toContain('Permission denied');
    await root(`cat /run/before >${config}; ${reload}`);
    await expect.poll(async () => (await host.ssh('ada', ['true'])).exitCode).toBe(0);
  });

  const edit = (path: string, change: string): readonly [string, string] => [
    `cp -p ${path} /run/before; sed -i '${change}' ${path}`,
    `cat /run/before > ${path}`,
  ];
  it.each<[string, readonly [string, string], string]>([
    ['no subordinate IDs', edit('/etc/subuid', '/^ada:/d'), 'user-subids'],
    ['no image', edit('/etc/berth/profiles/base.yml', 's/berth-site/berth-sight/'), 'image'],
    [
      'no init program for containers',
      edit('/etc/berth/ssh.yml', '$a \\  init: /usr/bin/no-catatonit'),
      'podman-runtime',
    ],
    [
      'a runtime that is not an OCI runtime',
      edit('/etc/berth/ssh.yml', 's,/usr/bin/crun,/usr/bin/env,'),
      'podman-runtime',
    ],
    [
      'newuidmap without its capabilities',
      [
        'cp -p /usr/bin/newuidmap /run/changed; chmod 755 /run/changed; mount --bind /run/changed /usr/bin/newuidmap',
        'umount /usr/bin/newuidmap',
      ],
      'newuidmap',
    ],
    [
      'a storage that users cannot enter',
      ['chmod 700 /var/lib/berth-ssh', 'chmod 755 /var/lib/berth-ssh'],
      'storage',
    ],
  ])('%s: it says so, and what to do', async (_what, [spoil, mend], id) => {
    await root(spoil);
    try {
      const { exitCode, plan: planned } = await plan('ada');
      const { exitCode: login } = await host.ssh('ada', ['true']);

      expect(planned.obstacles.map((one) => one.id)).toContain(id);
      for (const { next } of planned.obstacles) expect(next).toMatch(/\w/);
      expect(exitCode).toBe(69);
      expect(login).toBe(255);
    } finally {
      await root(mend);
    }
  });

  it('given a podman network that the user does not have: no session, until it is made', async () => {
    const berth = join(installDirectory, 'berth');
    const [spoil, mend] = edit(
      '/etc/berth/profiles/base.yml',
      's/^network: .*/network: campus/; s/^x11: .*/x11: false/',
    );
    await root(spoil);
    try {
      const { plan: planned } = await plan('ada');
      expect(planned.obstacles).toMatchObject([
        { id: 'podman-network', message: expect.stringContaining('campus') as string },
      ]);
      expect((await host.ssh('ada', ['true'])).exitCode).toBe(255);
      const status = await host.asRoot([berth, 'status']);
      expect(status.stdout.toString()).toMatch(/✗ podman-network .*campus/);

      const { file, args = [], env = {} } = planned.session?.container.start ?? {};
      const options = args.slice(1, args.indexOf('run'));
      const made = await host.asUser('ada', [
        ...['env', '-i', ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
        ...[file ?? '', ...options, 'network', 'create', 'campus'],
      ]);
      expect(made.exitCode, made.stderr).toBe(0);
      expect((await plan('ada')).plan.obstacles).toEqual([]);
      const { exitCode, stderr } = await host.ssh('ada', ['true']);
      expect(exitCode, stderr + (await host.log())).toBe(0);
    } finally {
      await root(mend);
    }
  });

  it('given a missing mount: both fail and name it', async () => {
    const [spoil, mend] = edit(
      '/etc/berth/profiles/base.yml',
      's,^mounts:,&\\n  - source: /nowhere/scratch,',
    );
    await root(spoil);
    try {
      const words = ['plan', '--ssh', '--user', 'ada'];
      const planned = await host.asRoot([join(installDirectory, 'berth'), ...words]);
      const login = await host.ssh('ada', ['true']);

      expect(planned.exitCode).toBe(69);
      expect(planned.stderr).toContain('/nowhere/scratch');
      expect(login.exitCode).toBe(255);
    } finally {
      await root(mend);
    }
  });

  it('given hybrid cgroups on a host without systemd: no session, until v2 is mounted as the check says', async () => {
    const at = '/sys/fs/cgroup';
    await root(
      `mount -t tmpfs tmpfs ${at}; mkdir ${at}/unified; mount -t cgroup2 cgroup2 ${at}/unified`,
    );
    const { obstacles } = (await plan('ada')).plan;
    expect(obstacles.map(({ id }) => id)).toEqual(['cgroups']);
    expect((await host.ssh('ada', ['true'])).exitCode).toBe(255);

    const [, mount = ''] = /: (mount .*)/.exec(obstacles[0]?.next ?? '') ?? [];
    await root(mount);
    expect((await plan('ada')).plan.obstacles).toEqual([]);
    const { exitCode, stderr } = await host.ssh('ada', ['true']);
    expect(exitCode, stderr).toBe(0);
  });
});
