import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { sharedProfile, SshHost, standardSshYml } from '../../rig/login-node/ssh-host.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { repetitions } from '../../rig/soak.ts';

/** With crun of Debian 12, podman relays terminals; with runc, the runtime does. */
describe.each(['crun', 'runc'])('a session whose container of %s ends elsewhere', (runtime) => {
  let host: SshHost;
  beforeAll(async () => {
    await ensurePackages(['runc']);
    host = await SshHost.start({
      mode: 'forced',
      users: { ada: [] },
      profiles: { base: sharedProfile },
      sshYml: { podman: { ...standardSshYml.podman, runtime: `/usr/bin/${runtime}` } },
    });
  });
  afterAll(() => host.stop());
  afterEach(async () => {
    await expect.poll(() => findLeftovers(host, 'ada')).toEqual(noLeftovers);
  });

  const open = async (): Promise<readonly LiveSession[]> => {
    const terminal = LiveSession.start(host, 'ada', ['-tt', 'echo ready; cat']);
    await terminal.waitForOutput('ready');
    return [terminal, await LiveSession.startReady(host, 'ada', 'cat')];
  };
  /** What they printed, without the client's own line, and their exit codes. */
  const ends = async (sessions: readonly LiveSession[]): Promise<unknown> =>
    Promise.all(
      sessions.map(async (session) => [
        (await session.outputAtEnd()).replace(/\r/g, '').replace(/Connection to .*\n/, ''),
        await session.exitCode(),
      ]),
    );
  const told =
    'login: you ended your container berth-base from another connection: this session ends now. Log in again for a new one.\n';
  const noticed =
    'login: the container of this session was ended from outside. Log in again for a new one.\n';
  const killed = 137;
  const end = () => host.ssh('ada', ['berth end --all']);
  const removeByPodman = (): Promise<unknown> => {
    const { uid } = host.account('ada');
    const own = `/var/lib/berth-ssh/users/${uid}`;
    const run = `/run/user/${uid}`;
    const podman = `podman --root ${own}/storage --runroot ${run}/containers --tmpdir ${run}/libpod/tmp
      --runtime /usr/bin/${runtime} --cgroup-manager cgroupfs --storage-driver overlay
      --storage-opt overlay.mount_program=/usr/bin/fuse-overlayfs`;
    const words = `${podman} rm --force --time 0 berth-base`.split(/\s+/);
    return host.asUser('ada', ['env', `HOME=${own}`, ...words]);
  };
  const killFirst = (): Promise<unknown> => {
    const note = `/run/user/${host.account('ada').uid}/berth/berth-base.json`;
    return host.asRoot(['sh', '-c', `kill -9 "$(grep -o '"pid":[0-9]*' ${note} | tr -dc 0-9)"`]);
  };

  it('by `berth end` is told so', async () => {
    const sessions = await open();
    expect(await end()).toMatchObject({ exitCode: 0 });
    const terminal =
      runtime === 'crun' ? [`ready\n\n${told}${noticed}`, 255] : [`ready\n\n${told}`, killed];
    expect(await ends(sessions)).toEqual([terminal, [`ready\n${told}`, killed]]);
  });

  it.each([
    ['as podman removes it', removeByPodman],
    ['as its first process is killed', killFirst],
  ])('%s ends as killed, or says so', async (_how, work) => {
    const sessions = await open();
    expect(await work()).toMatchObject({ exitCode: 0 });
    const terminal = runtime === 'crun' ? [`ready\n${noticed}`, 255] : ['ready\n', killed];
    expect(await ends(sessions)).toEqual([terminal, ['ready\n', killed]]);
  });

  const sentences = /^(?:login: .*\.|Connection to .* closed\.|\^D.*)$/;
  /** As the runtime itself is the session's process, nothing stands between it and the user. */
  const words =
    runtime === 'crun'
      ? /^the container `[0-9a-f]{64}` is not running$/
      : /nsexec|runc|^time=|\bexec failed: /;

  it('while it starts reads sentences, or what the runtime says', async () => {
    for (let turn = 0; turn < repetitions(6, 24); turn += 1) {
      const session = LiveSession.start(host, 'ada', turn % 2 === 0 ? ['-tt', 'cat'] : ['cat']);
      await sleep(200 + turn * 120);
      await end();
      session.client.stdin?.end();
      await sleep(500);
      await session.kill();
      for (const line of (await session.outputAtEnd()).split(/[\r\n]+/).filter(Boolean))
        expect(sentences.test(line) || words.test(line), line).toBe(true);
    }
  }, 180_000);
});
