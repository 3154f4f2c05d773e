import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import type { CheckResult } from '../../../src/system/errors/check-result.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { refusedLogin, runAsRoot } from '../../rig/login-node/refused-login.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';

/** Without pam_systemd nothing creates /run/user/UID. */
describe('the runtime directory on a host without pam_systemd', () => {
  let host: SshHost;
  let directory: string;
  beforeAll(async () => {
    host = await SshHost.start({
      mode: 'forced',
      users: { ada: [], bob: [] },
    });
    await runAsRoot(host, `rmdir /run/user/${host.account('ada').uid}`);
    directory = `/run/berth/users/${host.account('ada').uid}`;
  });
  afterAll(() => host.stop());

  const mounts = async (): Promise<string[]> =>
    (await readFile(`/proc/${host.init}/mountinfo`, 'utf8'))
      .split('\n')
      .filter((line) => line.includes('/run/berth/users/'));
  const runtimeDirectoryOfDoctor = async (user: string): Promise<string | undefined> => {
    const { stdout } = await host.asRoot([
      `${installDirectory}/berth`,
      'doctor',
      '--user',
      user,
      '-o',
      'json',
    ]);
    const { checks } = berthDocument(stdout.toString()) as { checks: CheckResult[] };
    return checks.find(({ id }) => id === 'user-runtime-directory')?.message;
  };
  const reap = () => host.asRoot([`${installDirectory}/berth`, 'reap']);
  const answer = async (command: string): Promise<string> => {
    const { stdout, stderr } = await host.ssh('ada', [command]);
    return stdout.toString() + stderr;
  };
  const gone = (): Promise<true> =>
    waitFor({ what: 'the runtime directory to be gone', timeoutMs: 60_000 }, async () =>
      (await mounts()).length === 0 ? true : undefined,
    );

  it("is a limited file system of the user's own, where containers run", async () => {
    const session = await LiveSession.startReady(host, 'ada', 'cat');
    const { uid, gid } = host.account('ada');
    const [line = '', ...more] = await mounts();
    expect(more).toEqual([]);
    expect(line).toMatch(new RegExp(` ${directory} rw,nosuid,nodev,`));
    expect(line).toMatch(new RegExp(`size=65536k,nr_inodes=16384,mode=700,uid=${uid},gid=${gid}`));
    const { stderr } = await host.asUser('ada', [
      'dd',
      'if=/dev/zero',
      `of=${directory}/fill`,
      'bs=1M',
      'count=200',
    ]);
    expect(stderr).toContain('No space left on device');
    await host.asUser('ada', ['rm', `${directory}/fill`]);
    const many = `cd ${directory}; mkdir many; seq 17000 | sed s,^,many/, | xargs touch`;
    expect((await host.asUser('ada', ['sh', '-c', many])).stderr).toContain('No space left');
    await host.asUser('ada', ['rm', '-r', `${directory}/many`]);
    expect((await host.ssh('ada', ['echo another'])).stdout.toString()).toBe('another\n');
    expect(await mounts()).toHaveLength(1);
    expect(await runtimeDirectoryOfDoctor('ada')).toBe(
      `ada uses ${directory} (a tmpfs of 64 MiB that ${installDirectory}/hooks/pam-session mounts): /run/user/${uid} was missing or accessible to others when the first of the open sessions began`,
    );
    await session.kill();
    await gone();
    await expect.poll(() => findLeftovers(host, 'ada')).toEqual(noLeftovers);
    await expect(readFile(host.path(directory))).rejects.toThrow('ENOENT');
    expect(await runtimeDirectoryOfDoctor('ada')).toBe(
      `the next login of ada creates /run/user/${uid} (pam_systemd), or else ${directory} (a tmpfs of 64 MiB that ${installDirectory}/hooks/pam-session mounts)`,
    );
  });

  it('is that of systemd if there is one', async () => {
    const session = await LiveSession.startReady(host, 'bob', 'cat');
    expect(await mounts()).toEqual([]);
    expect(await runtimeDirectoryOfDoctor('bob')).toBe(
      `bob uses /run/user/${host.account('bob').uid} (pam_systemd)`,
    );
    await session.kill();
  });

  it('of open sessions stays when the host gets systemd-logind; later ones use that of systemd', async () => {
    const { uid } = host.account('ada');
    const session = await LiveSession.startReady(host, 'ada', 'cat');
    await runAsRoot(host, `install -d -m 0700 -o ada -g ada /run/user/${uid}`);
    expect(await answer('echo another')).toBe('another\n');
    expect(await mounts()).toHaveLength(1);
    expect(await runtimeDirectoryOfDoctor('ada')).toContain(`ada uses ${directory} `);
    await session.kill();
    await gone();
    expect(await answer('echo in')).toBe('in\n');
    expect(await mounts()).toEqual([]);
    expect(await runtimeDirectoryOfDoctor('ada')).toMatch(
      new RegExp(`/run/user/${uid} \\(pam_systemd\\)`),
    );
  });

  it('is another one since a host crashed: the reaper and logins remove the store of the former', async () => {
    const { uid } = host.account('ada');
    const stored = `/var/lib/berth-ssh/users/${uid}/storage/overlay-containers/containers.json`;
    const crash = async (): Promise<void> => {
      const session = await LiveSession.startReady(host, 'ada', 'cat');
      await runAsRoot(host, `pkill -KILL -f '^sshd: ada'; pkill -KILL -u ada; true`);
      await session.kill();
      expect(await runAsRoot(host, `cat ${stored}`)).toContain('berth-');
    };
    await crash();
    await runAsRoot(host, `rm -r /run/user/${uid}`);
    expect(await answer('echo in')).toBe('in\n');
    expect(await mounts()).toHaveLength(1);
    await gone();
    await crash();
    await runAsRoot(host, `umount ${directory}; rmdir ${directory}`);
    await runAsRoot(host, `install -d -m 0700 -o ada -g ada /run/user/${uid}`);
    const { exitCode, stderr } = await reap();
    expect(exitCode, stderr).toBe(0);
    expect(await runAsRoot(host, `cat ${stored} 2>/dev/null || echo none`)).not.toContain('berth-');
    await runAsRoot(host, `rm -r /run/user/${uid}`);
  });

  it('is mounted once, given ten first connections at once', async () => {
    const all = Array.from({ length: 10 }, () => host.ssh('ada', ['echo in; sleep 1']));
    const results = await Promise.all(all);
    expect(
      results.map(({ exitCode, stdout, stderr }) => [exitCode, `${stdout.toString()}${stderr}`]),
    ).toEqual(Array(10).fill([0, 'in\n']));
    await gone();
    // One cleanup may find a container that another one is removing, and leave the rest to the reaper.
    expect((await reap()).exitCode).toBe(0);
  });

  it('stays while a file is open there, and is removed by the next run of the reaper', async () => {
    const session = await LiveSession.startReady(host, 'ada', 'cat');
    const own = await host.asUser('ada', [
      'sh',
      '-c',
      `(cd ${directory}; exec setsid sleep 1000 >&- 2>&- <&-) & echo $!`,
    ]);
    const pid = own.stdout.toString().trim();
    await session.kill();
    await waitFor({ what: 'the close', timeoutMs: 60_000 }, async () =>
      (await findLeftovers(host, 'ada')).files.length === 0 ? true : undefined,
    );
    expect(await mounts()).toHaveLength(1);
    expect((await host.ssh('ada', ['echo again'])).stdout.toString()).toBe('again\n');
    await runAsRoot(host, `kill ${pid}`);
    await waitFor({ what: 'the reaper', timeoutMs: 60_000 }, async () => {
      expect((await reap()).exitCode).toBe(0);
      return (await mounts()).length === 0 ? true : undefined;
    });
  });

  it('is unmounted on the host by a reaper in its own mount namespace', async () => {
    const session = await LiveSession.startReady(host, 'ada', 'cat');
    const records = `/run/berth/connections/${host.account('ada').uid}`;
    await runAsRoot(
      host,
      `cd ${records}; kill -9 $(ls | sed -n 's/^\\([0-9]*\\)\\.[0-9]*$/\\1/p')`,
    );
    await session.kill();
    expect(await mounts()).toHaveLength(1);
    await runAsRoot(host, `unshare --mount --propagation slave ${installDirectory}/berth reap`);
    await gone();
  });

  it('given a failing mount: the session is refused, and the user reads what is missing', async () => {
    await runAsRoot(host, `printf '#!/bin/sh\\nexit 1\\n' >/run/nsenter; chmod 755 /run/nsenter`);
    await runAsRoot(
      host,
      `sed -i 's,^podman:,podman:\\n  nsenter: /run/nsenter,' /etc/berth/ssh.yml`,
    );
    expect((await refusedLogin(host, 'ada')).code).toBe('runtime-directory-missing');
    expect(await host.log()).toContain('code=runtime-directory-not-mounted');
    expect(await runAsRoot(host, `stat -c '%U %a' ${directory}`)).toBe('root 755\n');
  });
});
