import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installDirectory } from '../../rig/site/portal.ts';
import { motd } from '../../rig/login-node/host-files.ts';
import { InitHost, undoCommands } from '../../rig/login-node/init-host.ts';

describe('berth init login-node', () => {
  let host: InitHost;
  let port: number;

  beforeAll(async () => {
    host = await InitHost.start();
    ({ port } = host);
  });
  afterAll(() => host.stop());

  const shell = (script: string) => host.shell(script);
  const init = (more = '', at = port) =>
    host.init(
      `login-node --image localhost/berth-site:1 --user alice --port ${at} --pull no --start no ${more}`,
    );
  const state = async () =>
    (
      await shell(
        'tar -C /etc -cf - berth pam.d security ssh passwd group subuid subgid | sha256sum',
      )
    ).stdout;

  it('names the options that are missing where nobody can be asked', async () => {
    const { exitCode, stderr } = await shell(
      `${installDirectory}/berth init login-node --user alice </dev/null`,
    );
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 64 });
    expect(stderr).toContain(
      'give --yes; the defaults of --image, --port, --mode, --pull then apply',
    );
  });

  it.each([
    ['/dev/fuse', 'mv /dev/fuse /run/fuse', 'mv /run/fuse /dev/fuse', '/dev/fuse does not exist'],
    [
      'cgroups v2',
      'mount -t tmpfs tmpfs /sys/fs/cgroup',
      'umount /sys/fs/cgroup',
      'cgroups v2 is not alone at /sys/fs/cgroup',
    ],
  ])('asks nothing on a host without %s', async (_what, take, giveBack, message) => {
    await shell(take);
    const terminal = host.openInit('login-node');
    const exitCode = await terminal.waitForExit();
    const dryRun = await init('--yes --dry-run');
    await shell(giveBack);
    expect(exitCode, terminal.text).toBe(75);
    expect(terminal.text).toContain(`berth: no session would start: ${message}`);
    expect(terminal.text).toContain('; nothing was written [init-cancelled]');
    expect(terminal.text).not.toContain('Image of the sessions');
    expect(dryRun.stdout).toContain('/etc/berth/ssh.yml: new');
  });

  it('shows all changes in a dry run, and makes none', async () => {
    const { exitCode, stdout, stderr } = await init('--yes --dry-run');
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: 'dry run: nothing was changed\n',
    });
    expect(stdout).toContain('/etc/berth/profiles/minimal.yml: new');
    expect(stdout).toContain('+image: localhost/berth-site:1');
    expect(stdout).toContain('/etc/pam.d/sshd: changed');
    expect(stdout).toMatch(/^-.*user_readenv=1/m);
    expect(stdout).toContain(`/etc/ssh/berth/login.conf: new, by \`berth sshd new login`);
    expect(stdout).toMatch(/^run: usermod .*alice$/m);
    const { stdout: files } = await shell('ls -A /etc/berth /etc/ssh/berth 2>/dev/null || true');
    expect(files).not.toMatch(/ssh\.yml|login\.conf/);
  });

  it('says how to undo what it has done if a later step fails, and that undoes it', async () => {
    const before = await host.state();
    await shell('rmdir /etc/berth/profiles 2>/dev/null || true');
    const failed = await host.init(
      `login-node --image localhost:1/none:1 --user alice --port ${port} --pull yes --start no --yes`,
    );
    expect(failed.stderr).toContain('[registry-unreachable]');
    expect(failed.stderr).toContain('`berth init login-node --from-archive FILE`');
    expect(failed.stderr).toContain('[init-step-failed]');
    const undo = undoCommands(failed.stdout, 'to undo this run');
    // No profile names what could not be pulled.
    expect(undo).toEqual(['rm /etc/berth/ssh.yml']);
    await shell(`set -e\n${undo.join('\n')}`);
    expect(await host.state()).toBe(before);
  });

  it('gives nobody a login shell, nor access, if doctor then finds a fault', async () => {
    const account = () => shell('getent passwd alice; id -Gn alice');
    const [before, { stdout: who }] = [await host.state(), await account()];
    const { exitCode, stdout } = await host.init(
      `login-node --image localhost/none:1 --user alice --port ${port} --mode login-shell --pull no --start no --yes`,
    );
    expect(exitCode, stdout).toBe(1);
    expect(stdout).toMatch(
      /\$ berth doctor --user alice --profile minimal\n[^]*\n\$ gpasswd --delete alice berth\n/,
    );
    expect(stdout).toMatch(/^not done: usermod --shell \S+ alice$/m);
    expect(stdout).not.toMatch(/^\$ usermod --shell/m);
    expect((await account()).stdout).toBe(who);
    // `berth sshd new` says how to undo it, too.
    const [, last = ''] = stdout.split('correct the checks');
    const undo = undoCommands(last, 'to undo this run');
    await shell(
      `set -e\n${undo.join('\n')}\n# Subordinate IDs stay.\nrm /root/pam.d-sshd.before-berth /etc/subuid /etc/subgid`,
    );
    expect(await host.state()).toBe(before);
  });

  it('ends with a session in a container', async () => {
    const pamEnv = '/etc/security/berth-pam-env.conf';
    // As the package does.
    await shell(`install -m 0644 ${installDirectory}/share${pamEnv} ${pamEnv}`);
    const { exitCode, stdout, stderr } = await init('--yes');
    expect({ exitCode, stdout, stderr }).toMatchObject({ exitCode: 0 });
    expect(stdout).toContain('\n  cp -p /root/pam.d-sshd.before-berth /etc/pam.d/sshd\n');
    expect(undoCommands(stdout, 'to undo earlier runs')).toContain(`rm ${pamEnv}`);
    expect(stdout).toContain(`next: try it: ssh -p ${port} alice@`);
    // By then her shell is Berth's.
    expect(stdout).toMatch(
      /^next: what alice can do at the host's own sshd, outside of sessions: .*; keep such users out there, for example with DenyGroups in \/etc\/ssh\/sshd_config/m,
    );
    expect(stdout).not.toContain('/bin/bash runs on the host');
    const session = await host.session(['id -un; cat /proc/1/comm']);
    expect(session.stdout.toString(), session.stderr + (await host.host.log())).toBe(
      'alice\npodman-init\n',
    );
  });

  it('whose terminal shows the message of the day once, though the login is shell and forced command', async () => {
    await shell('mkdir -p /etc/motd.d; echo "Maintenance on Monday" >/etc/motd.d/monday');
    const { stdout } = await host.session(['-tt'], 'exit\n');
    for (const line of [motd.trim(), 'Maintenance on Monday'])
      expect(stdout.toString().split(line)).toHaveLength(2);
    expect((await host.session(['-T'], 'exit\n')).stdout.toString()).not.toContain('Monday');
  });

  it('changes nothing the second time, and says so', async () => {
    await shell('sed -i "1iDenyGroups berth" /etc/ssh/sshd_config');
    const before = await state();
    const { exitCode, stdout } = await init('--yes');
    expect(exitCode, stdout).toBe(0);
    expect(stdout).toContain('nothing to change');
    expect(stdout).not.toContain("the host's own sshd");
    expect(stdout).not.toMatch(/^run: |: new|: changed|differs/m);
    const undo = undoCommands(stdout, 'to undo earlier runs');
    expect(undo).toEqual(
      expect.arrayContaining(['usermod --shell /bin/bash alice', 'groupdel berth']),
    );
    expect(stdout).not.toContain("''");
    expect(await state()).toBe(before);
    await shell('mv /etc/berth/former-shells /run');
    // As after a version that did not keep it.
    expect((await init('--yes --dry-run')).stdout).toContain('nothing to change');
    expect((await init('--yes')).stdout).toContain('\n  usermod --shell SHELL alice\n');
    await shell('mv /run/former-shells /etc/berth');
  });

  it('says how to undo everything after a run with another address, too', async () => {
    const { exitCode, stdout } = await init('--yes --address 127.0.0.1');
    expect(exitCode, stdout).toBe(0);
    const undo = undoCommands(stdout, 'to undo earlier runs');
    expect(undo).toContain('rm /etc/ssh/berth/login.conf');
    const [leave, remove] = ['gpasswd --delete alice berth', 'groupdel berth'];
    expect(undo.indexOf(remove)).toBeGreaterThan(undo.indexOf(leave));
    await init('--yes --address all');
  });

  it('takes another account back out if its own profile has a fault', async () => {
    const account = async () => (await shell('getent passwd bob; id -Gn bob')).stdout;
    const before = await account();
    const { exitCode, stdout } = await host.init(
      `login-node --image localhost/none:1 --user bob --port ${port} --pull no --start no --yes`,
    );
    expect(exitCode, stdout).toBe(1);
    expect(stdout).toMatch(
      /\$ berth doctor --user bob --profile minimal\n[^]*\n\$ gpasswd --delete bob berth\n[^]*\$ usermod --shell \/bin\/bash bob\n/,
    );
    expect(await account()).toBe(before);
  });

  it('is what doctor advises for an account that its sshd does not admit', async () => {
    const { stdout } = await shell(`${installDirectory}/berth doctor --user bob || true`);
    expect(stdout).toMatch(
      /user-access .*admits bob: .*\(AllowGroups\)\n.*berth init login-node --user bob`/,
    );
    expect(stdout).not.toContain('gpasswd');
  });

  it('adds another account, whatever other profiles lack, with an image from the store, and never with its former shell', async () => {
    // As after a boot without systemd.
    await shell('rmdir /run/sshd');
    await shell(`cp -p /etc/berth/ssh.yml /run/ssh.yml
      sed -i 's/^rules:$/&\\n  - { profile: other, users: [alice] }/' /etc/berth/ssh.yml
      printf 'image: localhost/none:1\\nlifetime: connection\\n' >/etc/berth/profiles/other.yml`);
    const isOpen = 'id -nG bob | grep -qw berth && ! getent passwd bob | grep -q shell/login';
    const watch = `while [ ! -e /run/over ]; do if ${isOpen}; then touch /run/open; fi; done`;
    const watching = shell(watch);
    const { exitCode, stdout, stderr } = await host.init(
      `login-node --image localhost/berth-site:1 --user bob --port ${port} --pull yes --start no --yes`,
    );
    await shell('touch /run/over');
    await watching;
    expect(exitCode, stdout + stderr).toBe(0);
    expect(stdout).not.toContain('images pull');
    for (const words of ['usermod --shell /bin/bash alice', 'gpasswd --delete alice berth'])
      expect(undoCommands(stdout, 'to undo earlier runs')).toContain(words);
    expect((await shell('id -nG bob; getent passwd bob; ls /run')).stdout).toMatch(
      /^bob berth\n.*shell\/login\n(?![^]*^open$)/m,
    );
    await shell('mv /run/ssh.yml /etc/berth/ssh.yml; rm /etc/berth/profiles/other.yml');
  });

  it('shows what an admin has edited, and leaves it', async () => {
    await shell("echo 'lifetime: user' >>/etc/berth/profiles/minimal.yml");
    const before = await state();
    const { exitCode, stdout } = await init('--yes');
    expect(exitCode, stdout).toBe(0);
    expect(stdout).toMatch(/minimal\.yml: differs/);
    expect(stdout).toContain('-lifetime: user');
    expect(stdout).toContain('/etc/berth/profiles/minimal.yml: left as it is');
    expect(await state()).toBe(before);
    // The last line would name a port that nothing listens on.
    await shell("echo '# ours' >>/etc/ssh/berth/login.conf");
    const other = await init('--yes', 400);
    expect(other.stderr).toContain(
      'login.conf was edited by hand, and has another value than --port',
    );
    expect(other.exitCode).toBe(75);
  });
});
