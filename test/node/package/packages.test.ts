import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenSessions } from '../../rig/ansible/open-sessions.ts';
import { busyboxArchive } from '../../rig/login-node/image-archives.ts';
import { run } from '../../rig/login-node/run-program.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { freePorts } from '../../rig/site/ports.ts';
import { SystemdHost } from '../../rig/systemd/systemd-host.ts';

const repository = new URL('../../..', import.meta.url).pathname;
const address = '127.18.1.1';
let host: SystemdHost;
let ports: Record<'admin' | 'sessions', number>;
/** Milliseconds. On a new machine Go builds nfpm first. */
const timeout = 900_000;

/** Runs `npm run package`. @returns its directory below the host's */
async function packagesOf(version: string, name: string, ...more: string[]): Promise<string> {
  const out = join(host.directory, name);
  const script = join(repository, 'scripts/package.ts');
  const options = ['--version', version, '--out', out, ...more];
  await execa(process.execPath, ['--import', 'tsx', script, ...options], { cwd: repository });
  return out;
}

/**
 * Runs a command on a copy of the directories of the packages. rpmlint unpacks them with cpio(1), and the names in those of nfpm
 * are absolute, so it would write to the machine's own.
 */
const onCopy = `
  copy=$(mktemp -d); mount -t tmpfs tmpfs "$copy"
  for name in usr etc; do
    mkdir "$copy/$name" "$copy/$name.work"
    mount -t overlay -o "lowerdir=/$name,upperdir=$copy/$name,workdir=$copy/$name.work" overlay "/$name"
  done
  "$@"; umount --lazy "$copy"; rmdir "$copy"`;

beforeAll(async () => {
  await ensurePackages(['openssh-server', 'openssh-client', 'lintian', 'rpm', 'rpmlint', 'podman']);
  ports = await freePorts(['admin', 'sessions']);
  const options = { name: 'pristine', address, adminPort: ports.admin, adminKey: '' };
  host = await SystemdHost.boot(options);
}, timeout);
afterAll(() => host.stop());

/** Options of a user's ssh. */
const ssh = (...more: string[]): string[] => [
  ...['-F', '/dev/null', '-i', join(host.directory, 'key'), '-o', 'BatchMode=yes'],
  ...['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'],
  ...['-o', 'LogLevel=ERROR', '-p', String(ports.sessions), `alice@${address}`, ...more],
];

describe('the packages', () => {
  let first: string;
  it('are the same bytes each time, for both architectures', { timeout }, async () => {
    first = await packagesOf('0.1.0', 'packages');
    const again = await packagesOf('0.1.0', 'again');
    const sums = await readFile(join(first, 'SHA256SUMS'), 'utf8');
    expect(await readFile(join(again, 'SHA256SUMS'), 'utf8')).toBe(sums);
    const names = sums.split('\n').map((line) => line.split('  ')[1]);
    expect(names).toEqual(
      expect.arrayContaining([
        ...['berth_0.1.0-1_amd64.deb', 'berth_0.1.0-1_arm64.deb', 'berth-0.1.0.cdx.json'],
        ...['berth-0.1.0-1.x86_64.rpm', 'berth-0.1.0-1.aarch64.rpm'],
        ...['berth-0.1.0-linux-amd64.tar.gz', 'berth-0.1.0-linux-arm64.tar.gz'],
        ...['berth-login_0.1.0-1_all.deb', 'berth-portal_0.1.0-1_all.deb'],
        ...['berth-login-0.1.0-1.noarch.rpm', 'berth-portal-0.1.0-1.noarch.rpm'],
      ]),
    );
  });

  it('have no errors for lintian and rpmlint', { timeout }, async () => {
    const files = (await readdir(first)).map((name) => join(first, name));
    const debs = files.filter((name) => name.endsWith('.deb'));
    const lintian = await run('lintian', ['--tag-display-limit', '0', ...debs], { timeout });
    expect(lintian.stdout.toString()).not.toMatch(/^E: /m);
    expect(lintian.exitCode, lintian.stderr).toBe(0);
    const rpms = files.filter((name) => name.endsWith('.rpm'));
    const settings = join(repository, 'packaging/rpmlint.toml');
    const lint = ['rpmlint', '-c', settings, ...rpms];
    const rpmlint = await run('unshare', ['--mount', 'sh', '-euc', onCopy, 'sh', ...lint], {
      timeout,
    });
    expect(rpmlint.stdout.toString()).toMatch(/ 0 errors/);
  });

  it('need packages that RHEL 8, 9 and 10 have', async () => {
    const [file = ''] = (await readdir(first)).filter((name) => /^berth-login-.*rpm$/.test(name));
    const { stdout } = await run('rpm', ['-qp', '--requires', join(first, file)]);
    // A rich dependency names alternatives: `(slirp4netns or passt)`.
    const needed = stdout
      .toString()
      .split('\n')
      .filter((line) => line !== '' && !/^(?:rpmlib\(|berth |\/bin\/sh)/.test(line))
      .map((line) =>
        line
          .replace(/ >= .*$/, '')
          .replace(/[()]/g, '')
          .split(' or '),
      );
    expect(needed.length).toBeGreaterThan(5);
    const releases = parse(
      await readFile(join(repository, 'packaging/rhel-packages.yml'), 'utf8'),
    ) as Record<string, string[]>;
    for (const [release, names] of Object.entries(releases)) {
      for (const alternatives of needed)
        expect(names, release).toContain(alternatives.find((name) => names.includes(name)));
      expect(names.filter((name) => !needed.flat().includes(name))).toEqual([]);
    }
  });
});

describe('on a Debian host', () => {
  const typed = (script: string) => host.script(`cd /usr/lib/berth/share\n${script}`);

  it(
    'they are installed with what they need, and change neither sshd nor PAM',
    { timeout },
    async () => {
      const before = await host.script('cat /etc/pam.d/sshd /etc/ssh/sshd_config /etc/passwd');
      const output = await host.script(
        `apt-get --quiet update; apt-get --quiet --yes install ${host.directory}/packages/berth_*_amd64.deb ${host.directory}/packages/berth-login_*.deb 2>&1`,
      );
      expect(output).toContain('next: /usr/lib/berth/share/docs/getting-started-login-node.md');
      expect(await host.script('cat /etc/pam.d/sshd /etc/ssh/sshd_config /etc/passwd')).toBe(
        before,
      );
      const units = await host.script("systemctl list-unit-files 'berth-*' --no-legend");
      expect(units).toContain('berth-reap.timer');
      expect(units).not.toMatch(/^\S+ +enabled/m);
      expect(await host.script('berth --version')).toContain('0.1.0');
    },
  );

  it('lead to a session in a container', { timeout }, async () => {
    await execa('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(host.directory, 'key')]);
    const image = 'localhost/berth-busybox:1';
    const archive = join(host.directory, 'image.tar');
    // Podman refuses longer paths than 50 characters there.
    const storage = ['--root', `${host.directory}/podman`, '--runroot', '/run/berth-packages'];
    await execa('podman', [...storage, 'import', '--quiet', await busyboxArchive(), image]);
    await execa('podman', [...storage, 'save', '--quiet', '--output', archive, image]);
    await typed(`
      useradd --create-home alice
      install -d -m 0700 -o alice ~alice/.ssh
      install -m 0600 -o alice ${host.directory}/key.pub ~alice/.ssh/authorized_keys
      printf 'rules:\\n  - profile: minimal\\npodman: { cgroup_manager: cgroupfs }\\n' > /etc/berth/ssh.yml
      mkdir -p /etc/berth/profiles; echo 'image: ${image}' > /etc/berth/profiles/minimal.yml
      berth images pull --from-archive ${archive} >&2
      groupadd --force berth
      usermod --append --groups berth --shell /usr/lib/berth/shell/login alice
      berth subid apply --directories >&2
      cp -pn /etc/pam.d/sshd /root/pam.d-sshd.before-berth
      sed -i 's/ user_readenv=1//' /etc/pam.d/sshd
      cat etc/pam.d/berth-session >> /etc/pam.d/sshd
      berth sshd new login --port ${ports.sessions} --address ${address} --mode login-shell >&2
      systemctl enable --now berth-sshd@login berth-reap.timer`);
    const { stdout, stderr } = await run('ssh', ssh('id -un; cat /proc/1/comm'));
    expect(stdout.toString(), stderr).toBe('alice\npodman-init\n');
  });

  it('are upgraded while sessions are open, which continue', { timeout }, async () => {
    const sessions = await OpenSessions.open([ssh(), ssh(), ssh()]);
    await packagesOf('0.1.1', 'next', '--arch', 'amd64');
    await host.script("echo '# of the site' >>/etc/security/berth-pam-env.conf");
    await host.script(
      `apt-get --quiet --yes install ${host.directory}/next/berth_*_amd64.deb ${host.directory}/next/berth-login_*.deb </dev/null`,
    );
    expect(
      await host.script("dpkg-query --show '--showformat=${Version} ' berth berth-login"),
    ).toBe('0.1.1-1 0.1.1-1 ');
    expect(await host.script('cat /etc/security/berth-pam-env.conf')).toContain('# of the site');
    expect(await sessions.answering()).toBe(3);
    await sessions.close();
    const { stdout, stderr } = await run('ssh', ssh('id -un'));
    expect(stdout.toString(), stderr).toBe('alice\n');
  });

  it('are not removed while accounts, sshd or PAM name their programs', { timeout }, async () => {
    const purge = await host.asRoot(['apt-get', '--quiet', '--yes', 'purge', 'berth']);
    expect(purge.exitCode).not.toBe(0);
    const printed = `${purge.stdout.toString()}${purge.stderr}`;
    expect(printed).toContain('login shell of alice');
    expect(printed).toContain('/etc/ssh/berth/login.conf');
    expect(printed).toContain('/etc/pam.d/sshd');
    const { stdout } = await run('ssh', ssh('id -un'));
    expect(stdout.toString()).toBe('alice\n');
  });

  it('leave the storage of users when they are purged', { timeout }, async () => {
    await host.script(`
      systemctl disable --now berth-sshd@login
      usermod --shell /bin/bash alice
      cp -p /root/pam.d-sshd.before-berth /etc/pam.d/sshd
      rm -r /etc/ssh/berth/login.conf
      berth reap >&2
      apt-get --quiet --yes purge berth berth-login`);
    expect(await host.script('ls /var/lib/berth-ssh')).toContain('images');
    expect(await host.script('ls -d /usr/lib/berth /usr/sbin/berth 2>/dev/null || true')).toBe('');
    expect(await host.script('ls /etc/security')).not.toContain('berth');
  });
});
