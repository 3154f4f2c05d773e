import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import { fileSystemTypeFinding } from '../../../src/diagnose/doctor/ssh-storage-checks.ts';
import type { CheckResult } from '../../../src/system/errors/check-result.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';

const repository = new URL('../../..', import.meta.url).pathname;
const berth = join(installDirectory, 'berth');
const storage = '/var/lib/berth-ssh';
let host: SshHost;
let directory: string;

beforeAll(async () => {
  host = await SshHost.start({ mode: 'forced', users: { ada: [] } });
  directory = `${storage}/users/${host.account('ada').uid}`;
  await root(`install -d -m 0700 -o ada ${directory}`);
  // Debian's own line, which the linter reports.
  await root('sed -i s/user_readenv=1/user_readenv=0/ /etc/pam.d/sshd');
});
afterAll(() => host.stop());

async function root(script: string): Promise<void> {
  const { exitCode, stderr } = await host.asRoot(['sh', '-ec', script]);
  if (exitCode !== 0) throw new Error(`${script}: ${stderr}`);
}

async function checks(): Promise<CheckResult[]> {
  const { stdout, stderr } = await host.asRoot([berth, 'doctor', '--user', 'ada', '-o', 'json']);
  if (stdout.length === 0) throw new Error(stderr);
  return (berthDocument(stdout.toString()) as { checks: CheckResult[] }).checks;
}

async function complaints(): Promise<string[]> {
  return (
    (await checks())
      .filter(({ status }) => status === 'failed' || status === 'warning')
      // Not installed in these tests; the last test here checks for it.
      .filter(({ id }) => id !== 'transfer-files')
      .map(({ id, status, next }) => {
        expect(next).toMatch(/\w/);
        return `${id} ${status}`;
      })
  );
}

/** Replaces a file of the host, visible only to this host. */
const over = (path: string, change: string): string =>
  `cp -p ${path} /run/changed; ${change.replaceAll('%', '/run/changed')}; mount --bind /run/changed ${path}`;
const edit = (path: string, change: string): [string, string] => [
  `cp -p ${path} /run/before; sed -i '${change}' ${path}`,
  `cat /run/before > ${path}`,
];
const bound = (path: string, change: string): [string, string] => [
  over(path, change),
  `umount ${path}`,
];
const moded = (path: string, bad: string, good: string): [string, string] => [
  `chmod ${bad} ${path}`,
  `chmod ${good} ${path}`,
];

describe('berth doctor on a login node', () => {
  it('reports no failure on a complete host, and needs no Open OnDemand', async () => {
    expect(await complaints()).toEqual([]);
    expect((await checks()).find(({ id }) => id === 'config')).toMatchObject({ status: 'skipped' });
  });

  const faults: [string, readonly [string, string], readonly string[]][] = [
    ['no log is kept', ['mv /dev/log /dev/off', 'mv /dev/off /dev/log'], ['syslog warning']],
    [
      'podman is old',
      bound('/usr/bin/podman', 'printf "#!/bin/sh\\necho podman version 3.4.4\\n" > %'),
      ['podman failed'],
    ],
    [
      'the runtime is another one',
      edit('/etc/berth/ssh.yml', 's,/usr/bin/crun,/usr/bin/crum,'),
      ['podman-runtime failed'],
    ],
    [
      'the runtime is not an OCI runtime',
      edit('/etc/berth/ssh.yml', 's,/usr/bin/crun,/usr/bin/env,'),
      ['podman-runtime failed'],
    ],
    [
      'there are no rules',
      edit('/etc/berth/ssh.yml', '/^rules:/,/^[a-z]/{/^rules:/d;/^ /d;/^-/d}'),
      ['ssh-rules failed', 'user-profile failed'],
    ],
    [
      'it has profiles for other programs only',
      edit('/etc/berth/ssh.yml', '/^rules:/,/^[a-z]/{s/^rules:.*/rules: []/;/^ /d;/^-/d}'),
      [],
    ],
    [
      'the user is not admitted by an sshd of Berth',
      [
        `mkdir -p /etc/ssh/berth; echo AllowGroups nobodys >/etc/ssh/berth/login.conf`,
        'rm -r /etc/ssh/berth',
      ],
      ['user-access failed'],
    ],
    [
      'a profile is for a group that does not exist',
      edit('/etc/berth/profiles/base.yml', '$a groups: [nobodys]'),
      ['ssh-rules failed', 'user-profile failed'],
    ],
    [
      'a profile mounts a path that does not exist',
      edit('/etc/berth/profiles/base.yml', 's,^mounts:,&\\n  - source: /nowhere/scratch,'),
      ['ssh-mounts failed'],
    ],
    [
      'a profile adds what reaches further than a session',
      edit('/etc/berth/profiles/base.yml', '$a podman: { devices: [/dev/fuse] }'),
      ['ssh-profile warning'],
    ],
    [
      'the init program is missing',
      edit('/etc/berth/ssh.yml', '$a \\  init: /usr/bin/no-catatonit'),
      ['podman-runtime failed'],
    ],
    [
      'users can write to the runtime',
      bound('/usr/bin/crun', 'chmod 777 %'),
      ['podman-runtime failed'],
    ],
    ['newuidmap lost its bit', bound('/usr/bin/newuidmap', 'chmod 755 %'), ['newuidmap failed']],
    ['the user has no range', edit('/etc/subuid', '/^ada:/d'), ['user-subids failed']],
    [
      'the user has no subordinate IDs',
      edit('/etc/subgid', 's/^\\(ada:[0-9]*\\):.*/\\1:9/'),
      ['user-subids warning'],
    ],
    [
      'two users share a range',
      edit('/etc/subgid', '$a eve:4000000000:9\\nmax:4000000005:9'),
      ['subid-files failed'],
    ],
    ['a range has UIDs of others', edit('/etc/subuid', '$a no\\neve:1:9'), ['subid-files failed']],
    [
      'cgroups are not version 2',
      ['mount -t tmpfs none /sys/fs/cgroup', 'umount /sys/fs/cgroup'],
      ['cgroups failed'],
    ],
    [
      'cgroup_manager is systemd, which is not running',
      edit('/etc/berth/ssh.yml', 's/cgroupfs/systemd/'),
      ['cgroups warning'],
    ],
    [
      'limits cannot be enforced',
      edit('/etc/berth/profiles/base.yml', '$a limits: { memory: 1G }'),
      ['cgroup-delegation failed'],
    ],
    ['users may not open /dev/fuse', moded('/dev/fuse', '600', '666'), ['devices failed']],
    ['the storage is open', moded(storage, '777', '755'), ['storage failed']],
    [
      'users have no access to the storage',
      moded(storage, '700', '755'),
      ['storage failed', 'image failed'],
    ],
    ["the user's directory is open", moded('FOLDER', '755', '700'), ['user-storage failed']],
    [
      "the user's directory is root's",
      ['chown root FOLDER', 'chown ada FOLDER'],
      ['user-storage failed'],
    ],
    [
      "the user's directory is not there",
      ['mv FOLDER /run/gone', 'mv /run/gone FOLDER'],
      ['user-storage warning'],
    ],
    [
      'a running sshd waits for DNS, only to find the name of a balancer',
      [
        `cp -p /etc/ssh/sshd_config /run/sshd.before; cp -p /etc/berth/ssh.yml /run/ssh.before; sed -i 's/UseDNS no/UseDNS yes/' /etc/ssh/sshd_config; echo 'balancers: [192.0.2.1]' >>/etc/berth/ssh.yml`,
        `cat /run/sshd.before >/etc/ssh/sshd_config; cat /run/ssh.before >/etc/berth/ssh.yml`,
      ],
      ['sshd warning'],
    ],
    [
      "that sshd is the host's own, and those of sessions are behind the balancer",
      [
        `cp -p /etc/ssh/sshd_config /run/sshd.before; cp -p /etc/berth/ssh.yml /run/ssh.before; sed -i 's/UseDNS no/UseDNS yes/' /etc/ssh/sshd_config; echo 'balancers: [192.0.2.1]' >>/etc/berth/ssh.yml; mkdir -p /etc/ssh/berth; touch /etc/ssh/berth/login.conf`,
        `rm -r /etc/ssh/berth; cat /run/sshd.before >/etc/ssh/sshd_config; cat /run/ssh.before >/etc/berth/ssh.yml`,
      ],
      [],
    ],
    ['PAM ends nothing', edit('/etc/pam.d/sshd', '/pam-session/d'), ['pam-session warning']],
    [
      'PAM creates no runtime directory either',
      [
        `cp -p /etc/pam.d/sshd /run/before; sed -i /pam-session/d /etc/pam.d/sshd; mv /run/user /run/user.gone`,
        `cat /run/before > /etc/pam.d/sshd; mv /run/user.gone /run/user`,
      ],
      ['pam-session warning', 'user-runtime-directory failed'],
    ],
    [
      'a profile is broken',
      edit('/etc/berth/profiles/base.yml', '$a imagee: x'),
      ['ssh-config failed', 'ssh-profile failed', 'user-profile failed', 'image warning'],
    ],
    ['ssh.yml is broken', edit('/etc/berth/ssh.yml', '$a rulez: []'), ['ssh-config failed']],
    [
      'a rule names a profile that does not exist',
      edit('/etc/berth/ssh.yml', 's/profile: base/profile: bass/'),
      ['ssh-profile failed', 'user-profile failed'],
    ],
    [
      'the image is missing',
      edit('/etc/berth/profiles/base.yml', 's/berth-site/berth-sight/'),
      ['image failed'],
    ],
    [
      'the storage is in memory',
      [
        `mount -t tmpfs -o mode=0755 none ${storage}; mkdir -p ${storage}/users; install -d -m 0700 -o ada FOLDER`,
        `umount ${storage}`,
      ],
      ['storage-file-system warning', 'image failed'],
    ],
    [
      'the storage is on a file server',
      [
        `mkdir -p /run/lower; fuse-overlayfs -o allow_other,lowerdir=/run/lower,upperdir=/run/lower,workdir=/run/lower ${storage} || fuse-overlayfs -o lowerdir=/run/lower ${storage}`,
        `umount ${storage}`,
      ],
      ['storage-file-system failed', 'image failed', 'user-storage warning'],
    ],
  ];

  it('needs no hook.env without Open OnDemand, even if there is a berth.yml', async () => {
    await root(`cp ${repository}etc/berth/berth.yml.example /etc/berth/berth.yml`);
    try {
      expect(await complaints()).toEqual([]);
    } finally {
      await root('rm /etc/berth/berth.yml');
    }
  });

  it('says how images without scp and sftp get them', async () => {
    const found = (await checks()).find(({ id }) => id === 'transfer-files');
    expect(found).toMatchObject({ status: 'warning', next: 'Run `berth images files`.' });
  });

  it('reports the missing line of PAM first: without it users have no runtime directory', async () => {
    const [spoil, mend] = edit(
      '/etc/pam.d/sshd',
      '/pam-session/d; s/user_readenv=0/user_readenv=1/',
    );
    await root(spoil);
    try {
      const found = (await checks()).find(({ id }) => id === 'pam-session');
      expect(found?.next).toContain('etc/pam.d/berth-session');
    } finally {
      await root(mend);
    }
  });

  it.each(faults)('%s: only that is reported', async (_what, [spoil, mend], expected) => {
    await root(spoil.replaceAll('FOLDER', directory));
    try {
      expect((await complaints()).sort()).toEqual([...expected].sort());
    } finally {
      await root(mend.replaceAll('FOLDER', directory));
    }
  });
});

describe('the file system of the storage', () => {
  it.each([
    ['NFS', 0x6969],
    ['Lustre', 0x0bd00bd0],
    ['GPFS', 0x47504653],
    ['BeeGFS', 0x19830326],
    ['SMB', 0xfe534d42],
    ['SMB', 0xfe534d42 | 0],
  ])('that is %s has to be moved', (name, type) => {
    const found = fileSystemTypeFinding('/s', { type, bavail: 2 ** 30, bsize: 4096 });
    expect(found).toMatchObject({ status: 'failed' });
    expect(found.message).toContain(`on ${name},`);
  });

  it('is ok on a local disk with free space, and a warning on a full one', () => {
    expect(fileSystemTypeFinding('/s', { type: 0xef53, bavail: 2 ** 30, bsize: 4096 }).status).toBe(
      'ok',
    );
    expect(fileSystemTypeFinding('/s', { type: 0xef53, bavail: 9, bsize: 4096 }).status).toBe(
      'warning',
    );
  });
});
