import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { berth, berthOn, listed } from './berth-on.ts';

describe('sessions in containers', () => {
  let host: SshHost;
  beforeAll(async () => {
    host = await SshHost.start({
      ...{ mode: 'forced', sshd: 'AcceptEnv BERTH_PROFILE' },
      sshYml: { rules: [{ profile: 'base' }, { profile: 'minimal', on_request: true }] },
      profiles: {
        ...{ base: standardProfile, minimal: standardProfile },
        notebook: { ...standardProfile, backend: 'pod' },
      },
    });
  });
  afterAll(() => host.stop());

  it('have nothing to do with a profile that no rule and no sshd names, such as one for notebooks', async () => {
    const { exitCode, stderr } = await host.ssh('ada', ['berth sessions']);
    expect([exitCode, stderr]).toEqual([
      0,
      'no SSH session of yours has a container, pod or job here\n',
    ]);
    const log = await host.log();
    expect(log).toContain('msg="session opened" user=ada');
    expect(log).not.toMatch(/level=error|config-missing/);
    const doctor = await berthOn(host, ['doctor', '-o', 'json']);
    expect(doctor.out).toContain('"ssh-rules"');
    expect(doctor.out).not.toContain('"ssh-pods"');
  });

  it('are listed with profile, container, address and use, and end with all that they started', async () => {
    const ada = await LiveSession.startReady(host, 'ada', 'echo "<$SSH_CONNECTION>"; sleep 9000');
    const bob = LiveSession.start(host, 'bob', ['-tt', 'echo ready; sleep 9000']);
    await bob.waitForOutput('ready');
    await ada.waitForOutput('>');
    const [, clientPort, port] =
      /<127\.0\.0\.1 (\d+) 127\.0\.0\.1 (\d+)>/.exec(ada.output)?.map(Number) ?? [];

    const all = await listed(host);
    expect(all.map(({ user }) => user).sort()).toEqual(['ada', 'bob']);
    const one = all.find(({ user }) => user === 'ada');
    expect(one).toMatchObject({
      ...{ profile: 'base', backend: 'podman', claimedName: null },
      ...{ name: `berth-base-${one?.id ?? ''}`, from: '127.0.0.1', terminals: [] },
      idleSeconds: null,
      peer: { address: '127.0.0.1', port: clientPort },
      local: { address: '127.0.0.1', port },
    });
    expect(one?.memoryBytes).toBeGreaterThan(1_000_000);
    const other = all.find(({ user }) => user === 'bob');
    expect(other?.terminals).toEqual([expect.stringMatching(/^\/dev\/pts\/\d+$/)]);
    expect(other?.idleSeconds).toBeLessThan(60);
    expect((await listed(host, '--user', 'bob', '--from', '127.0.0.0/8')).length).toBe(1);
    expect(await listed(host, '--idle-over', '1h')).toEqual([]);

    const table = await berthOn(host, ['sessions', 'list', '--no-headers', '-o', 'wide']);
    expect(table.out).toMatch(
      new RegExp(`^${one?.id ?? ''}  +ada +base +container +berth-base-`, 'm'),
    );
    expect((await berthOn(host, ['sessions', 'show', 'bob'])).out).toMatch(/^Terminals: +\/dev/m);

    const [pid = ''] = (other?.id ?? '').split('.');
    const ended = await berthOn(host, ['sessions', 'end', pid, '--message', 'good night']);
    expect(ended).toEqual({ code: 0, out: `ended ${other?.id ?? ''} of bob\n`, err: '' });
    expect(await bob.exitCode()).toBe(255);
    expect(await findLeftovers(host, 'bob')).toEqual(noLeftovers);
    // The other one goes on.
    expect((await listed(host)).map(({ user }) => user)).toEqual(['ada']);

    // The monitor does not react: it is killed, and what PAM would have cleaned up is cleaned up here.
    await host.asRoot(['kill', '-STOP', one?.id.split('.')[0] ?? '']);
    expect(await berthOn(host, ['sessions', 'end', 'ada'])).toMatchObject({ code: 0, err: '' });
    expect(await findLeftovers(host, 'ada')).toEqual(noLeftovers);
    expect(await listed(host)).toEqual([]);
    await ada.kill();
  });

  it('of several users end at once, also where no monitor reacts', async () => {
    const sessions = await Promise.all(
      ['ada', 'bob', 'ada', 'bob'].map((user) => LiveSession.startReady(host, user, 'sleep 9000')),
    );
    const monitors = (await listed(host)).map(({ id }) => id.split('.')[0] ?? '');
    await host.asRoot(['kill', '-STOP', ...monitors]);
    expect(await berthOn(host, ['sessions', 'end', '--all'])).toMatchObject({ code: 0, err: '' });
    for (const user of ['ada', 'bob']) expect(await findLeftovers(host, user)).toEqual(noLeftovers);
    expect(await listed(host)).toEqual([]);
    for (const session of sessions) await session.kill();
  });

  it('have the profile that their client asked for, and a connection that of each of its sessions', async () => {
    const master = ['-S', join(host.directory, 'ada.sock'), '-o', 'SendEnv=BERTH_PROFILE'];
    const asking = ['-o', 'SetEnv=BERTH_PROFILE=minimal'];
    const ready = async (user: string, ...options: string[]): Promise<LiveSession> => {
      const session = LiveSession.start(host, user, [...options, 'echo ready; sleep 9000']);
      await session.waitForOutput('ready');
      return session;
    };
    const [usual, asked, shared] = await Promise.all([
      ready('bob'),
      ready('bob', ...asking),
      ready('ada', '-M', ...master),
    ]);
    const profilesOf = async (...args: string[]) =>
      (await listed(host, ...args)).map(({ user, profile, name, id }) =>
        [user, profile, name?.replace(id, 'ID')].join(' '),
      );
    const [ada, bob] = ['ada base berth-base-ID', 'bob minimal berth-minimal-ID'];
    expect((await profilesOf()).toSorted()).toEqual([ada, 'bob base berth-base-ID', bob]);
    expect(await profilesOf('--profile', 'minimal')).toEqual([bob]);
    const env = { PATH: '/usr/bin:/bin', BERTH_PROFILE: 'minimal' };
    const other = host.ssh('ada', [...master, 'sleep 9000'], { env });
    await expect.poll(async () => (await findLeftovers(host, 'ada')).containers.length).toBe(2);
    const [both] = await listed(host, '--user', 'ada');
    expect(both).toMatchObject({ profile: 'minimal', profiles: ['minimal', 'base'] });

    const ended = await berthOn(host, ['sessions', 'end', '--all', '--profile', 'minimal']);
    expect(ended).toMatchObject({ code: 0, err: '' });
    expect([await asked.exitCode(), await shared.exitCode()]).toEqual([255, 255]);
    expect(await profilesOf()).toEqual(['bob base berth-base-ID']);
    await berthOn(host, ['sessions', 'end', '--all']);
    await usual.exitCode();
    expect((await other).exitCode).toBe(255);
    expect(await findLeftovers(host, 'ada')).toEqual(noLeftovers);
  });

  it('without a container, such as ssh -N, have the profile that the configuration gives', async () => {
    const ada = LiveSession.start(host, 'ada', ['-N']);
    await expect.poll(() => listed(host)).toHaveLength(1);
    expect(await listed(host)).toMatchObject([{ profile: 'base', backend: 'podman', name: null }]);
    await berthOn(host, ['sessions', 'end', 'ada']);
    await ada.exitCode();
  });

  it('that are not there are no error, and are said to be none', async () => {
    expect(await berthOn(host, ['sessions', 'list'])).toEqual({
      ...{ code: 0, out: '', err: 'no session is open\n' },
    });
    expect(await berthOn(host, ['sessions', 'list', '--user', 'ada'])).toMatchObject({
      ...{ code: 0, out: '', err: 'no session matches the filters\n' },
    });
    expect(await berthOn(host, ['sessions', 'end', '--all'])).toMatchObject({
      ...{ code: 0, out: '', err: 'there is no session to end\n' },
    });
  });

  it('are nobody else’s business', async () => {
    const { exitCode, stderr } = await host.asUser('ada', [berth, ...['sessions', 'list']]);
    expect(exitCode).toBe(77);
    expect(stderr).toMatch(/\[not-root\]\nnext: Run it as root/);
    expect(await berthOn(host, ['sessions', 'end', '4711'])).toMatchObject({ code: 69 });
    expect(await berthOn(host, ['sessions', 'end'])).toMatchObject({ code: 64 });
    expect(await berthOn(host, ['sessions', 'list', '--from', '1.2.3'])).toMatchObject({
      code: 64,
    });
  });
});

it('a session in a pod has the name of its pod', async () => {
  const host = await SshHost.start({
    ...{ mode: 'plain', users: { ada: [] } },
    pam: `session optional pam_exec.so quiet ${installDirectory}/hooks/pam-session`,
    profiles: { base: standardProfile, remote: { ...standardProfile, backend: 'pod' } },
    sshd: `Match User ada\n  ForceCommand ${installDirectory}/shell/login --profile remote`,
  });
  const ada = LiveSession.start(host, 'ada', ['-N']);
  await expect.poll(() => listed(host)).toHaveLength(1);
  const [session] = await listed(host);
  expect(session).toMatchObject({
    ...{ profile: 'remote', backend: 'pod' },
    name: `berth-remote-login1-${session?.id.replace('.', '-') ?? ''}`,
  });
  // What is missing for it is said, and the connection is open all the same.
  await expect.poll(() => host.log()).toMatch(/code=config-missing/);
  expect(await host.log()).toMatch(/msg="session opened" user=ada/);
  await ada.kill();
  await host.stop();
});
