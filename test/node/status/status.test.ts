import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostStatus } from '../../../src/cli/status/host-status.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { berthDocument } from '../../rig/berth-document.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';
import { berth, berthOn } from '../sessions/berth-on.ts';

let host: SshHost;

beforeAll(async () => {
  host = await SshHost.start({
    mode: 'forced',
    profiles: {
      base: standardProfile,
      other: { ...standardProfile, limits: {} },
      gone: { ...standardProfile, image: 'localhost/not-there:1' },
    },
    sshYml: { rules: [{ users: ['bob'], profile: 'other' }, { profile: 'base' }] },
  });
  // Debian's own line, which the linter reports.
  await root('sed -i s/user_readenv=1/user_readenv=0/ /etc/pam.d/sshd');
});
afterAll(() => host.stop());

async function root(script: string): Promise<string> {
  const { exitCode, stdout, stderr } = await host.asRoot(['bash', '--norc', '-ec', script]);
  if (exitCode !== 0) throw new Error(`${script}: ${stderr}`);
  return stdout.toString();
}

async function status(): Promise<HostStatus> {
  const { code, out, err } = await berthOn(host, ['status', '-o', 'json']);
  expect(err).toBe('');
  const found = berthDocument(out) as HostStatus;
  expect(code).toBe(found.ok ? 0 : 1);
  return found;
}

describe('berth status on a login node', () => {
  it('counts sessions by profile, and knows which images are stored', async () => {
    const sessions = await Promise.all(
      ['ada', 'ada', 'bob'].map((user) => LiveSession.startReady(host, user, 'sleep 9000')),
    );
    const { ok, roles, images, sessions: byProfile, clusters, drained } = await status();
    expect({ ok, clusters, drained }).toEqual({ ok: false, clusters: [], drained: null });
    expect(roles).toContain('login-node');
    expect(byProfile).toEqual([
      { profile: 'base', backend: 'podman', sessions: 2, users: 1 },
      { profile: 'other', backend: 'podman', sessions: 1, users: 1 },
    ]);
    expect(images.map(({ status, state, profiles }) => [status, state, ...profiles])).toEqual([
      ['ok', 'stored', 'base', 'other'],
      ['failed', 'missing', 'gone'],
    ]);
    const { code, out } = await berthOn(host, ['status']);
    expect(code).toBe(1);
    expect(out).toMatch(/^login1: login node[^\n]*, Berth /);
    expect(out).toMatch(
      /\nsessions\n {4}base +2 sessions of 1 user\n {4}other +1 session of 1 user\n/,
    );
    expect(out).toMatch(
      /\n {2}✗ missing +localhost\/not-there:1 \(gone\)\n +next: berth images pull\n/,
    );
    await Promise.all(sessions.map((one) => one.kill()));
  });

  it('counts sessions without their profile if sshd does not name it in time', async () => {
    // Those of the test before close one after the other.
    await expect.poll(async () => (await status()).sessions).toEqual([]);
    const session = await LiveSession.startReady(host, 'ada', 'sleep 9000');
    // What hangs in a directory service cannot be had at will.
    await root(
      "printf '#!/bin/sh\\nexec sleep 60\\n' >/run/slow; chmod 755 /run/slow; mount --bind /run/slow /usr/sbin/sshd",
    );
    const started = performance.now();
    const { sessions, incomplete } = await status();
    expect(performance.now() - started).toBeLessThan(3_000);
    await root('umount /usr/sbin/sshd');
    expect(sessions).toEqual([{ profile: null, backend: null, sessions: 1, users: 1 }]);
    expect(incomplete).toContainEqual({
      ...{ part: 'sessions', status: 'skipped' },
      message: 'sshd did not name all profiles in time',
    });
    await session.kill();
  });

  it('is all right, or says what is not: a damaged layer, no image store, a drained node', async () => {
    await root('mv /etc/berth/profiles/gone.yml /run');
    expect(await status()).toMatchObject({ ok: true });
    const store = '/var/lib/berth-ssh/images';
    await root(`mount -t tmpfs -o mode=0755 tmpfs ${store}`);
    expect((await status()).images).toMatchObject([{ status: 'failed', state: 'missing' }]);
    await root(`mkdir ${store}/overlay-images; echo x >${store}/overlay-images/images.json`);
    const { ok, incomplete } = await status();
    const broken = incomplete.find(({ part }) => part === 'images');
    expect([ok, broken?.status, broken?.message]).toEqual([
      ...[false, 'failed'],
      `${store}/overlay-images/images.json is not JSON`,
    ]);
    await root(`umount ${store}; mkdir -p /etc/berth; touch /etc/berth/drain`);
    expect(await status()).toMatchObject({ ok: true, drained: { by: '', reason: '' } });
    const { out } = await berthOn(host, ['status']);
    expect(out).toMatch(/\n {2}! drained +no new sessions since .*\n +next: berth node undrain\n/);
    await root('rm /etc/berth/drain');
  });

  it('knows what has changed since logins read the configuration', async () => {
    const file = '/etc/berth/profiles/base.yml';
    const ofSsh = async () =>
      (await status()).configuration.find((one) => one.file.endsWith('ssh.yml'));
    // A login within two seconds of a change, such as that of the test before, does not keep what it read.
    await expect
      .poll(async () => {
        await host.ssh('ada', ['true']);
        return ofSsh();
      })
      .toMatchObject({
        ...{ status: 'ok', errors: [], changed: [] },
        keptAt: expect.any(String) as string,
      });
    await root(`echo '# a comment' >>${file}`);
    expect(await ofSsh()).toMatchObject({ status: 'warning', errors: [], changed: [file] });

    await root(`echo 'immage: x' >>${file}`);
    const found = await status();
    expect(found).toMatchObject({ ok: false, configuration: [{ status: 'failed' }] });
    const { out } = await berthOn(host, ['status']);
    expect(out).toMatch(/\n {2}✗ ssh\.yml +\/etc\/berth\/profiles\/base\.yml:\d+:1: /);
    await root(
      `sed -i '/^immage/d' ${file}; echo 'rules: 1' >/run/bad; mount --bind /run/bad /etc/berth/ssh.yml`,
    );
    expect(await status()).toMatchObject({
      roles: expect.arrayContaining(['login-node']) as unknown,
      configuration: [{ errors: [{ code: 'ssh-yml-invalid' }] }],
    });
    await root('umount /etc/berth/ssh.yml');
    expect(await status()).toMatchObject({ ok: true });
  });

  it('tells another user what it leaves out, and shows the rest', async () => {
    const { exitCode, stdout } = await host.asRoot([
      ...['setpriv', '--reuid=ada', '--regid=ada', '--init-groups', berth, 'status', '-o', 'json'],
    ]);
    const found = berthDocument(stdout.toString()) as HostStatus;
    expect([exitCode, found.images.length, found.configuration.length]).toEqual([0, 1, 1]);
    const parts = found.incomplete.map(({ part }) => part);
    expect(parts).toEqual(['configuration', 'clusters', 'sessions', 'checks', 'timers']);
    expect({ ...found }).toMatchObject({ clusters: [], sessions: [], checks: [] });
  });

  it('has lines for 80 columns, and colours on a terminal only', async () => {
    const { out } = await berthOn(host, ['status']);
    expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(out).not.toContain('\u001b');
    const onTerminal = `TERM=xterm LANG=C.UTF-8 script -qec '${berth} status' /dev/null`;
    expect(await root(onTerminal)).toMatch(/\u001b\[32m✓\u001b\[0m stored /);
  });

  it('says which sshd of sessions does not run', async () => {
    const sshd = async () =>
      (await status()).checks.filter(({ id }) => id === 'sshd').map(({ message }) => message);
    expect(await sshd()).toEqual([]);
    const file = '/etc/ssh/berth/login.conf';
    const { port } = await freePorts(['port']);
    await root(`mkdir /etc/ssh/berth
      sed 's/^Port .*/Port ${port}/; /^PidFile/d' /etc/ssh/sshd_config >${file}`);
    expect(await sshd()).toEqual([`no sshd runs with ${file}: berth sshd check login`]);
    await root(`/usr/sbin/sshd -f ${file} -o PidFile=none`);
    expect(await sshd()).toEqual([]);
    await root('rm -r /etc/ssh/berth');
  });

  it('is not set up without ssh.yml, and the list of sessions says so, too', async () => {
    await root('mv /etc/berth/ssh.yml /run/ssh.yml');
    const { err } = await berthOn(host, ['sessions', 'list']);
    expect(err).toContain('This host is not set up for sessions: run `berth init login-node`.');
    expect((await status()).roles).not.toContain('login-node');
    await root('mv /run/ssh.yml /etc/berth/ssh.yml');
  });
});
