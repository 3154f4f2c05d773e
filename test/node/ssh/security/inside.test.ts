import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SshHost } from '../../../rig/login-node/ssh-host.ts';
import { Canary } from './canary.ts';

const base = { image: 'localhost/berth-site:1', lifetime: 'user' };
const dotted = 'a.b-c_d';

describe.each(['forced', 'login-shell'] as const)('what a session sees of the host: %s', (mode) => {
  let host: SshHost;
  beforeAll(async () => {
    const users = { ada: [], [dotted]: [] };
    host = await SshHost.start({ mode, users, profiles: { base } });
  });
  afterAll(() => host.stop());

  async function inside(user: string, command: string): Promise<string> {
    const { stdout, stderr } = await host.ssh(user, [command]);
    return stdout.toString() + stderr;
  }

  it('no runtime directories, storage, settings or sockets', async () => {
    const canary = await Canary.of(host, 'ada');
    await canary.file('.keep', '');
    const places = [
      '/run/user',
      '/var/lib/berth-ssh',
      '/run/berth/connections',
      '/run/berth/users',
    ];
    const paths = [
      ...places,
      '/etc/berth',
      '/var/cache/berth',
      '/run/podman',
      '/run/sshd',
      '/run/dbus',
    ];
    for (const path of paths)
      expect(await inside('ada', `ls -d ${path} 2>/dev/null`), path).toBe('');
    expect(await inside('ada', 'ls -A /run/berth')).toMatch(/^(?:files\n)?(?:tmp\n)?$/);
    const sockets = 'find / -xdev -name "*podman*.sock" -o -xdev -name "*.json" -path "*/berth/*"';
    expect(await inside('ada', `${sockets} 2>/dev/null`)).toBe('');
  });

  it("no cgroups and FUSE connections of the host, which are the user's own", async () => {
    const places = '/sys/fs/cgroup /sys/fs/fuse/connections';
    expect(await inside('ada', `ls -A ${places}`)).toBe(`${places.replace(' ', ':\n\n')}:\n`);
    expect(await inside('ada', 'mkdir /sys/fs/cgroup/mine')).toContain('Read-only file system');
  });

  it('no processes of the host, and none can be reached', async () => {
    await host.asUser('ada', ['sh', '-c', 'setsid sleep 4343 >&- 2>&- & echo $! >~/pid']);
    expect(await inside('ada', 'ps -e -o comm= | sort | uniq | tr "\\n" " "')).toMatch(
      /^(?:bash )?(?:catatonit |podman-init )(?:ps )?(?:sort )?(?:tr )?(?:uniq )?$/,
    );
    await inside('ada', 'kill -9 $(cat ~/pid); kill -9 -1');
    expect((await host.asRoot(['pgrep', '-f', 'sleep 4343'])).exitCode).toBe(0);
  });

  it("no root: a setuid file of root gives nobody root's rights", async () => {
    const { home } = host.account('ada');
    await host.asRoot(['sh', '-c', `cp /usr/bin/id ${home}/setuid; chmod 4755 ${home}/setuid`]);
    expect((await host.asUser('ada', [`${home}/setuid`])).stdout.toString()).toContain('euid=0');
    expect(await inside('ada', '~/setuid')).not.toContain('euid=');
  });

  it('no device of the disks, no kernel settings to write, no mount to make', async () => {
    expect(await inside('ada', 'ls /dev | grep -E "^(sd|vd|nvme|dm-|mem|kmsg|fuse)"')).toBe('');
    expect(await inside('ada', 'echo 1 2>/dev/null >/proc/sys/kernel/sysrq || echo no')).toBe(
      'no\n',
    );
    expect(await inside('ada', 'mount -t tmpfs none /mnt 2>/dev/null || echo no')).toBe('no\n');
  });

  it('nothing that the user creates inside at the path of the runtime directory', async () => {
    const { uid } = host.account('ada');
    await inside(
      'ada',
      `mkdir -p /tmp/run/user/${uid}; ln -s /tmp/run ~/run; touch ~/run/user/${uid}/x`,
    );
    expect(await readdir(host.path(`/run/user/${uid}`))).not.toContain('x');
    expect(await inside('ada', 'echo "$XDG_RUNTIME_DIR$DBUS_SESSION_BUS_ADDRESS"')).toBe('\n');
  });

  it('the home of a name with dots and dashes', async () => {
    const { home, uid } = host.account(dotted);
    expect(await inside(dotted, 'id -un; id -u; pwd; touch here')).toBe(
      `${dotted}\n${uid}\n${home}\n`,
    );
    expect(await readdir(host.path(home))).toContain('here');
  });

  it('a home that is a symbolic link of the admin', async () => {
    const { home } = host.account(dotted);
    await host.asRoot(['sh', '-c', `mv ${home} ${home}.real; ln -s ${home}.real ${home}`]);
    await host.asRoot(['sh', '-c', `rm -f /run/user/${host.account(dotted).uid}/berth/*.json`]);
    expect(await inside(dotted, 'cd; pwd; echo there >real; ls -d ..data 2>/dev/null')).toBe(
      `${home}\n`,
    );
    expect(await readdir(host.path(`${home}.real`))).toContain('real');
  });

  it('leaves no scratch files behind', async () => {
    // Of running containers only.
    const volumes = `/var/lib/berth-ssh/users/${host.account('ada').uid}/storage/volumes`;
    expect((await readdir(host.path(volumes))).length).toBeLessThanOrEqual(2);
  });
});

describe('a mount whose source the user can replace', () => {
  it('shows neither the storage nor the runtime directory', async () => {
    const mounts = [{ source: '$HOME' }, { source: '$HOME/data', target: '/data' }];
    const host = await SshHost.start({
      ...{ mode: 'login-shell', users: { ada: [] } },
      profiles: { base: { ...base, lifetime: 'connection', mounts } },
    });
    try {
      const { home, uid } = host.account('ada');
      for (const secret of [`/run/user/${uid}`, `/var/lib/berth-ssh/users/${uid}`, '/', '/run']) {
        await host.asUser('ada', ['ln', '-sfn', secret, `${home}/data`]);
        const { exitCode, stdout, stderr } = await host.ssh('ada', ['ls /data']);
        expect({ exitCode, stdout: stdout.toString() }).toEqual({ exitCode: 255, stdout: '' });
        expect(stderr).toContain('session-mount-forbidden');
      }
    } finally {
      await host.stop();
    }
  });
});
