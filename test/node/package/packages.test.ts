import { copyFile, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import { OpenSessions } from '../../rig/ansible/open-sessions.ts';
import { savedBusybox, savedBusyboxName } from '../../rig/login-node/image-archives.ts';
import { OpenTransfer } from '../../rig/login-node/open-transfer.ts';
import { run } from '../../../src/companions/verify/run-client.ts';
import { lintPackages } from '../../rig/package/lint-packages.ts';
import { makePackages } from '../../rig/package/make-packages.ts';
import { RpmHost } from '../../rig/package/rpm-host.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { SystemdHost } from '../../rig/systemd/systemd-host.ts';

const repository = new URL('../../..', import.meta.url).pathname;
const address = '127.18.1.1';
let host: SystemdHost;
let ports: Record<'admin' | 'sessions', number>;
/** Milliseconds. On a new machine Go builds nfpm first. */
const timeout = 900_000;

/** Runs `npm run package`. @returns its directory, which all hosts see */
async function packagesOf(version: string, name: string, ...more: string[]): Promise<string> {
  const out = join(host.directory, name);
  await makePackages(version, out, ...more);
  return out;
}

beforeAll(async () => {
  await ensurePackages([
    ...['openssh-server', 'openssh-client', 'podman', 'lintian', 'rpm', 'rpmlint'],
    ...['checkpolicy', 'semodule-utils'],
  ]);
  ports = await freePorts(['admin', 'sessions']);
  const options = { name: 'pristine', address, adminPort: ports.admin, adminKey: '' };
  host = await SystemdHost.boot(options);
}, timeout);
afterAll(() => host.stop());

/** Options of a user's ssh. */
const ssh = (...more: string[]): string[] => [
  ...['-F', '/dev/null', '-i', join(host.directory, 'key'), '-o', 'BatchMode=yes'],
  ...['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'],
  ...['-o', 'LogLevel=ERROR', '-o', `Port=${ports.sessions}`, `alice@${address}`, ...more],
];

let first: string;

describe('the packages', () => {
  it('are the same bytes each time, for both architectures', { timeout }, async () => {
    first = await packagesOf('0.1.0', 'packages');
    const again = await packagesOf('0.1.0', 'again', '--arch', 'amd64');
    const sums = await readFile(join(first, 'SHA256SUMS'), 'utf8');
    // The packages of arm64 are made in the same way.
    expect(await readFile(join(again, 'SHA256SUMS'), 'utf8')).toBe(
      sums.replace(/^.*(?:arm64|aarch64).*\n/gm, ''),
    );
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
    // Both architectures have the same files, except Node.
    const files = (await readdir(first))
      .filter((name) => !/arm64|aarch64/.test(name))
      .map((name) => join(first, name));
    const { lintian, rpmlint } = await lintPackages(files);
    expect(lintian.stdout.toString()).not.toMatch(/^E: /m);
    expect(lintian.exitCode, lintian.stderr).toBe(0);
    expect(rpmlint.stdout.toString()).toMatch(/ 0 errors/);
  });

  it('have the Node of their architecture', async () => {
    for (const [deb, rpm, machine] of [
      ['amd64', 'x86_64', 62],
      ['arm64', 'aarch64', 183],
    ] as const) {
      const node = './usr/lib/berth/node';
      for (const command of [
        `dpkg-deb --fsys-tarfile berth_0.1.0-1_${deb}.deb | tar -xO ${node}`,
        `rpm2cpio berth-0.1.0-1.${rpm}.rpm | cpio --quiet -i --to-stdout ${node.slice(1)}`,
        `tar -xzOf berth-0.1.0-linux-${deb}.tar.gz ${node}`,
      ]) {
        const read = `cd "$0"; ${command} 2>/dev/null | head -c 20`;
        const { stdout } = await run('bash', ['-c', read, first]);
        // e_machine of elf(5).
        expect(stdout.subarray(0, 4).toString('latin1'), command).toBe('\x7fELF');
        expect(stdout.readUInt16LE(18), command).toBe(machine);
      }
    }
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
      expect(output).toContain('next: berth init login-node (or by hand: /usr/lib/berth/share/');
      expect(await host.script('cat /etc/pam.d/sshd /etc/ssh/sshd_config /etc/passwd')).toBe(
        before,
      );
      const units = await host.script("systemctl list-unit-files 'berth-*'; systemctl show user@7");
      expect(units).toMatch(/^berth-reap\.timer [^]* XDG_CONFIG_HOME=/m);
      expect(units).not.toMatch(/^\S+ +enabled/m);
      expect(await host.script('berth --version')).toContain('0.1.0');
    },
  );

  it('lead to a session in a container', { timeout }, async () => {
    await execa('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(host.directory, 'key')]);
    // The host has this directory, but not the cache.
    const archive = join(host.directory, 'image.tar');
    await copyFile(await savedBusybox(), archive);
    await typed(`
      useradd --create-home alice
      install -d -m 0700 -o alice ~alice/.ssh
      install -m 0600 -o alice ${host.directory}/key.pub ~alice/.ssh/authorized_keys
      printf 'rules:\\n  - profile: minimal\\npodman: { cgroup_manager: cgroupfs }\\n' > /etc/berth/ssh.yml
      mkdir -p /etc/berth/profiles; printf 'image: ${savedBusyboxName}\nlifetime: user\ngrace: 10m\n' > /etc/berth/profiles/minimal.yml
      berth images pull --from-archive ${archive} >&2
      berth images files >&2
      groupadd --force berth
      usermod --append --groups berth --shell /usr/lib/berth/shell/login alice
      berth subid apply --directories >&2
      cp -pn /etc/pam.d/sshd /root/pam.d-sshd.before-berth
      sed -i 's/ user_readenv=1//' /etc/pam.d/sshd
      cat etc/pam.d/berth-session >> /etc/pam.d/sshd
      berth sshd new login --port ${ports.sessions} --address ${address} --mode login-shell >&2
      systemctl enable --now berth-sshd@login berth-reap.timer; systemctl start berth-pages; cat /var/lib/berth-pages/news.html >&2`);
    const { stdout, stderr } = await run('ssh', ssh('id -un; cat /proc/1/comm'));
    expect(stdout.toString(), stderr).toBe('alice\npodman-init\n');
  });

  it(
    'are upgraded while sessions and transfers are open, which continue',
    { timeout },
    async () => {
      const control = ['-o', `ControlPath=${join(host.directory, 'control')}`];
      const sessions = await OpenSessions.open([
        ssh('-o', 'ControlMaster=yes', ...control),
        ssh(),
        ssh(),
      ]);
      const file = join(host.directory, 'image.tar');
      const transfer = await OpenTransfer.open(ssh(), file);
      await packagesOf('0.1.1', 'next', '--arch', 'amd64', '--format', 'deb', '--format', 'rpm');
      await host.script("echo '# of the site' >>/etc/security/berth-pam-env.conf");
      // Twice: the second time it is installed already.
      for (const option of ['', '--reinstall'])
        await host.script(
          `apt-get --quiet --yes ${option} install ${host.directory}/next/berth_*_amd64.deb ${host.directory}/next/berth-login_*.deb </dev/null`,
        );
      const query = "dpkg-query -W '-f=${Version} ' berth berth-login; berth --version";
      expect(await host.script(query)).toMatch(/^0\.1\.1-1 0\.1\.1-1 [^]*0\.1\.1/);
      expect(await host.script('cat /etc/security/berth-pam-env.conf')).toContain('# of the site');
      expect(await sessions.answering()).toBe(3);
      // A command and a transfer in the connections that the former version opened.
      const later = await run('ssh', [...control, ...ssh('cat /proc/1/comm')]);
      expect(later.stdout.toString(), later.stderr).toBe('podman-init\n');
      await transfer.close();
      const sums = await run('ssh', ssh('sha256sum <before; sha256sum <after'));
      const { stdout: sum } = await run('sha256sum', [file]);
      const [expected] = sum.toString().split(' ');
      expect(sums.stdout.toString(), sums.stderr).toBe(`${expected}  -\n`.repeat(2));
      await sessions.close();
      await expect.poll(() => host.script('ls /run/berth/connections/*')).not.toMatch(/\d+\.\d+/);
      const { stdout, stderr } = await run('ssh', ssh('id -un'));
      expect(stdout.toString(), stderr).toBe('alice\n');
    },
  );

  it('are not removed while accounts, sshd or PAM name their programs', { timeout }, async () => {
    // The last session has ended, and its container waits for alice.
    await expect.poll(() => host.script('ls /run/berth/idle')).toMatch(/^\d+$/m);
    // Also where somebody has deleted the documentation.
    const printed = await host.script(`cd /usr/lib/berth; mv share away
      if apt-get --quiet --yes purge berth 2>&1; then exit 1; fi; mv away share`);
    for (const used of ['login shell of alice', '/etc/ssh/berth/login.conf', '/etc/pam.d/sshd'])
      expect(printed).toContain(used);
    expect(printed).toMatch(/containers of UID \d+: berth reap --unused/);
    expect((await run('ssh', ssh('id -un'))).stdout.toString()).toBe('alice\n');
  });

  it('leave the storage of users when they are purged', { timeout }, async () => {
    await host.script(`
      systemctl disable --now berth-sshd@login; usermod --shell /bin/bash alice
      cp -p /root/pam.d-sshd.before-berth /etc/pam.d/sshd; rm -r /etc/ssh/berth/login.conf
      install -d /var/lib/prometheus/node-exporter; while ls /run/berth/connections/*/*.* >&2; do sleep 0.1; done
      berth reap --unused --textfile=-/var/lib/prometheus/node-exporter/berth.prom >&2
      systemctl enable --now berth-metrics.timer; systemctl start berth-metrics; grep '^berth_images_missing 0$' /var/lib/prometheus/node-exporter/berth-metrics.prom >&2
      apt-get --quiet --yes purge berth berth-login; apt-get --quiet --yes install ${host.directory}/next/berth{,-login,-portal}_*.deb >&2; rm -r /usr/lib/berth; apt-get --quiet --yes purge berth berth-login berth-portal`);
    expect(await host.script('ls /var/lib/berth-ssh')).toContain('images');
    expect(await host.script('ls -d /usr/lib/berth /usr/sbin/berth 2>/dev/null || true')).toBe('');
    const rest = 'find /etc/security /var/lib/systemd /var/lib/prometheus';
    expect(await host.script(rest)).not.toContain('berth');
  });
});

describe('on a host with rpm', () => {
  let red: RpmHost;
  beforeAll(async () => {
    red = await RpmHost.boot('127.18.1.2', ports.admin);
  }, timeout);
  afterAll(() => red.stop());

  const rpmsIn = async (directory: string): Promise<string[]> =>
    (await readdir(directory))
      .filter((name) => /(?:x86_64|noarch)\.rpm$/.test(name))
      .map((name) => join(directory, name));
  const sshAndAccounts = () => red.script('cat /etc/pam.d/* /etc/ssh/sshd_config /etc/passwd');

  it('they are installed, and change neither sshd nor PAM', { timeout }, async () => {
    const before = await sshAndAccounts();
    const { stdout, stderr } = await red.rpm('--install', ...(await rpmsIn(first)));
    expect(stdout.toString(), stderr).toContain('docs/getting-started-login-node.md');
    expect(await sshAndAccounts()).toBe(before);
    const units = await red.script("systemctl list-unit-files 'berth-*' --no-legend");
    expect(units).toContain('berth-reap.timer');
    expect(units).not.toMatch(/^\S+ +enabled/m);
    expect(await red.script('berth --version')).toContain('0.1.0');
    const lint = await red.asRoot(['berth', 'sshd', 'lint', '-o', 'json']);
    expect(berthDocument(lint.stdout.toString())).toHaveProperty('ok');
    const doctor = await red.asRoot(['berth', 'doctor', '-o', 'json']);
    expect(berthDocument(doctor.stdout.toString())).toHaveProperty('checks');
    expect(await red.script('ls -l /usr/share/selinux/packages/targeted')).toContain('berth.pp');
    expect(await red.selinuxCalls()).toBe(`\
semodule -n -s targeted -X 200 -i /usr/share/selinux/packages/targeted/berth.pp
selinuxenabled
load_policy
restorecon -R /usr/lib/berth
`);
  });

  it('lead to a session in a container', { timeout }, async () => {
    expect(await red.firstSession(host.directory, ports.sessions)).toBe('alice\npodman-init\n');
  });

  it('are upgraded, and changed files are kept', { timeout }, async () => {
    await red.script("echo '# of the site' >>/etc/security/berth-pam-env.conf");
    for (const again of [[], ['--replacepkgs']]) {
      const next = await rpmsIn(join(host.directory, 'next'));
      const { exitCode, stdout, stderr } = await red.rpm('--upgrade', ...again, ...next);
      expect(exitCode, stderr).toBe(0);
      expect(stdout.toString()).not.toContain('next:');
    }
    const upgraded = await red.script('berth --version; cat /etc/security/berth-pam-env.conf');
    expect(upgraded).toMatch(/0\.1\.1[^]*# of the site/);
  });

  it('are removed only when no account names their programs', { timeout }, async () => {
    const remove = () => red.rpm('--erase', 'berth-login', 'berth');
    const hub = 'groupadd --force jupyterhub; systemctl enable --now berth-hub.socket >&2';
    await red.script(`echo '# of the site' >/etc/berth/berth.yml; ${hub}`);
    const portal = await red.rpm('--erase', 'berth-portal');
    expect([portal.exitCode, portal.stderr]).toEqual([0, expect.not.stringContaining('scriptlet')]);
    const refused = await remove();
    expect(refused.exitCode).not.toBe(0);
    expect(`${refused.stdout.toString()}${refused.stderr}`).toContain('login shell of alice');
    const left = await red.script('ls /usr/lib/berth/shell /run/berth');
    expect(left).toMatch(/^(?![^]*hub\.sock)[^]*login/);
    await red.undoFirstSession();
    expect(await remove()).toMatchObject({ exitCode: 0 });
    expect(await red.script('ls -d /usr/lib/berth /usr/sbin/berth 2>/dev/null || true')).toBe('');
    expect(await red.script('ls /etc/security /etc/berth')).toMatch(
      /berth\.yml[^]*berth-pam-env\.conf\.rpmsave/,
    );
    expect(await red.selinuxCalls()).toContain('semodule -n -s targeted -X 200 -r');
  });
});
