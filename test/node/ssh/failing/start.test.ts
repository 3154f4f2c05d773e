import { readlink, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SshHost } from '../../../rig/login-node/ssh-host.ts';
import { writeOnHost, refusedLogin, runAsRoot } from '../../../rig/login-node/refused-login.ts';

const podman = {
  runtime: '/usr/bin/crun',
  cgroup_manager: 'cgroupfs',
  mount_program: '/usr/bin/fuse-overlayfs',
};
const rules = [{ profile: 'base' }];
const base = { image: 'localhost/berth-site:1', lifetime: 'connection', agent: false };

describe('a session fails with a message for the user and one for the admin, given', () => {
  let host: SshHost;
  const settings = (more: object) =>
    writeOnHost(host, '/etc/berth/ssh.yml', { rules, podman, ...more });
  const profile = (more: object) =>
    writeOnHost(host, '/etc/berth/profiles/base.yml', { ...base, ...more });

  beforeAll(async () => {
    const users = { ada: [], bob: ['wheel'], cyd: [], dan: [], eve: [], fay: [], gil: [], hal: [] };
    host = await SshHost.start({ mode: 'forced', users });
  });
  beforeEach(async () => {
    await settings({});
    await profile({});
  });
  afterAll(() => host.stop());

  it('no podman', async () => {
    await settings({ podman: { ...podman, podman: '/usr/bin/no-podman' } });
    expect((await refusedLogin(host, 'ada')).code).toBe('podman-missing');
  });

  it('no OCI runtime', async () => {
    await settings({ podman: { ...podman, runtime: '/usr/bin/no-crun' } });
    const { code, syslogLine } = await refusedLogin(host, 'ada');
    expect(code).toBe('program-missing');
    expect(syslogLine).toContain('no-crun');
  });

  it('no nsenter', async () => {
    await settings({ podman: { ...podman, nsenter: '/usr/bin/no-nsenter' } });
    expect((await refusedLogin(host, 'ada')).line).toContain('/usr/bin/no-nsenter');
  });

  it('no init program for containers', async () => {
    await settings({ podman: { ...podman, init: '/usr/bin/no-catatonit' } });
    const { code, syslogLine } = await refusedLogin(host, 'ada');
    expect(syslogLine).toContain('no-catatonit');
    expect(code).toBe('program-missing');
  });

  it('no fuse-overlayfs', async () => {
    await settings({ podman: { ...podman, mount_program: '/usr/bin/no-fuse' } });
    const { code, syslogLine } = await refusedLogin(host, 'dan');
    expect(syslogLine).toContain('no-fuse');
    expect(code).toBe('program-missing');
  });

  it('no image in the store', async () => {
    await profile({ image: 'localhost/nowhere:1' });
    const { code, syslogLine } = await refusedLogin(host, 'ada');
    expect(code).toBe('image-missing');
    expect(syslogLine).toContain('localhost/nowhere:1');
  });

  it('an image of another architecture, and one without a shell', async () => {
    const uid = host.account('ada').uid;
    const store = `--root /var/lib/berth-ssh/users/${uid}/storage --runroot /run/user/${uid}/containers`;
    const own = `--tmpdir /run/user/${uid}/libpod/tmp --events-backend none --storage-driver overlay`;
    const import_ = `podman ${store} ${own} --storage-opt overlay.mount_program=/usr/bin/fuse-overlayfs import -q -`;
    const elf =
      "printf '\\177ELF\\002\\001\\001\\000\\000\\000\\000\\000\\000\\000\\000\\000\\002\\000\\267\\000'";
    await runAsRoot(
      host,
      `d=$(mktemp -d); mkdir $d/bin $d/etc $d/run $d/tmp $d/var $d/proc $d/sys $d/dev
      cd /; as() { runuser -u ada -- env -i PATH=/usr/bin:/bin HOME=/var/lib/berth-ssh/users/${uid} XDG_RUNTIME_DIR=/run/user/${uid} "$@"; }
      tar -C $d -c . | as ${import_} localhost/empty:1
      ${elf} >$d/bin/sh; chmod 755 $d/bin/sh; cp $d/bin/sh $d/bin/bash
      tar -C $d -c . | as ${import_} localhost/arm:1
      rm -r $d`,
    );
    for (const image of ['localhost/empty:1', 'localhost/arm:1']) {
      await profile({ image });
      expect((await refusedLogin(host, 'ada')).code, image).toBe('image-not-runnable');
      await profile({ image, shell: '/bin/bash' });
      expect((await refusedLogin(host, 'ada')).code, image).toBe('image-not-runnable');
    }
  });

  it('a registry that does not answer', async () => {
    await profile({ image: '127.0.0.1:9/none/none:1', pull: 'missing' });
    expect((await refusedLogin(host, 'ada')).code).toBe('registry-unreachable');
  });

  it.each([
    ['space', 'size=128k', 'gil'],
    ['inodes', 'nr_inodes=8', 'hal'],
  ])('no %s left where containers are kept', async (_, limit, user) => {
    const { uid, gid } = host.account(user);
    const directory = `/var/lib/berth-ssh/users/${uid}`;
    await runAsRoot(
      host,
      `mkdir -p ${directory}; mount -t tmpfs -o mode=0700,uid=${uid},gid=${gid},${limit} none ${directory}`,
    );
    try {
      const { code, syslogLine } = await refusedLogin(host, user);
      expect(code, syslogLine).toMatch(/^(?:container-)?disk-full$/);
    } finally {
      await runAsRoot(host, `umount -l ${directory}`);
    }
  });

  it('no space left in the runtime directory', async () => {
    const { uid, gid } = host.account('eve');
    const directory = `/run/user/${uid}`;
    await runAsRoot(
      host,
      `mount -t tmpfs -o mode=0700,uid=${uid},gid=${gid},size=4k none ${directory}; dd if=/dev/zero of=${directory}/full bs=4k count=1; chown ${uid} ${directory}/full`,
    );
    expect((await refusedLogin(host, 'eve')).code).toMatch(/disk-full|no-space/);
    await runAsRoot(host, `umount -l ${directory}`);
  });

  it('no subordinate IDs', async () => {
    await runAsRoot(host, `sed -i /^cyd:/d /etc/subuid /etc/subgid`);
    expect((await refusedLogin(host, 'cyd')).code).toBe('subordinate-ids-missing');
  });

  it('a limit whose cgroup is not delegated', async () => {
    await profile({ limits: { memory: '512M', pids: 100 } });
    const { code, syslogLine } = await refusedLogin(host, 'ada');
    expect(code, syslogLine).toBe('cgroup-not-delegated');
  });

  it('a mount whose source is missing', async () => {
    await profile({ mounts: [{ source: '$HOME' }, { source: '/project/none' }] });
    const { code, line } = await refusedLogin(host, 'ada');
    expect(code).toBe('session-mount-missing');
    expect(line).toContain('/project/none');
    await profile({ mounts: [{ source: '$HOME' }, { source: '/project/none', missing: 'skip' }] });
    const { stdout, stderr } = await host.ssh('ada', ['ls -d /project']);
    expect(stdout.toString()).toBe('');
    expect(stderr).toContain('No such file');
  });

  it('a missing home', async () => {
    const { home } = host.account('ada');
    await runAsRoot(host, `mv ${home} ${home}.away`);
    try {
      expect((await refusedLogin(host, 'ada')).code).toBe('session-mount-missing');
      await profile({ mounts: [{ source: '$HOME', missing: 'skip' }] });
      expect((await host.ssh('ada', ['pwd'])).stdout.toString()).toBe('/\n');
    } finally {
      await runAsRoot(host, `mv ${home}.away ${home}`);
    }
  });

  it('an ssh.yml that is not YAML', async () => {
    await writeOnHost(host, '/etc/berth/ssh.yml', 'rules: [}\n');
    const { code, syslogLine } = await refusedLogin(host, 'ada');
    expect(code).toBe('config-yaml-invalid');
    expect(syslogLine).toContain('/etc/berth/ssh.yml');
  });

  it('an invalid profile', async () => {
    await profile({ imagge: 'x' });
    const { code, syslogLine } = await refusedLogin(host, 'ada');
    expect(code).toBe('profile-invalid');
    expect(syslogLine).toContain('imagge');
  });

  it('a lock: of a dead process it is ignored, of a live one it is waited for until the deadline', async () => {
    await profile({ lifetime: 'user', deadline: '3s' });
    const { uid } = host.account('fay');
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).slice(0, 8);
    const world = `${boot}-${(await readlink(`/proc/${host.init}/ns/pid`)).replace(/\D/g, '')}`;
    const file = `/run/user/${uid}/berth/berth-base.lock`;
    // As `newHolder` in src/system/file-lock.ts.
    const lock = async (pid: number, start: string) => {
      await runAsRoot(host, `install -d -m 700 -o fay /run/user/${uid}/berth; rm -f ${file}`);
      const holder = `berth:${world}-${pid}:${start}:0123456789ab:login1`;
      await runAsRoot(host, `ln -s ${holder} ${file}; chown -h fay ${file}`);
    };
    const start = (await runAsRoot(host, 'cut -d" " -f22 /proc/1/stat')).trim();
    await lock(1, start);
    const { code, milliseconds } = await refusedLogin(host, 'fay');
    expect(code).toBe('lock-timeout');
    expect(milliseconds).toBeGreaterThan(3_000);
    expect(milliseconds).toBeLessThan(3_000 + margin);
    await lock(99_999, '1');
    expect((await host.ssh('fay', ['echo in'])).stdout.toString()).toBe('in\n');
  });

  it.each(['create', 'start'])('a runtime that hangs at %s, after the deadline', async (step) => {
    const script = `#!/bin/bash\nfor word; do [ "$word" = ${step} ] && sleep 40; done\nexec /usr/bin/crun "$@"\n`;
    await writeOnHost(host, '/etc/berth/slow-crun', script, 0o755);
    await runAsRoot(host, 'chmod 755 /etc/berth/slow-crun');
    await settings({ podman: { ...podman, runtime: '/etc/berth/slow-crun' } });
    await profile({ deadline: '4s' });
    const { code, milliseconds } = await refusedLogin(host, 'ada');
    expect(code).toBe('container-start-deadline');
    expect(milliseconds).toBeLessThan(4_000 + margin);
    // The next session starts normally.
    await settings({});
    await profile({});
    expect((await host.ssh('ada', ['echo in'])).stdout.toString()).toBe('in\n');
  });
});

/** Time for sshd, PAM and Node on a busy machine. Milliseconds. */
const margin = 6_000;
