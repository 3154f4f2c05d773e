import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../rig/free-ports.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { KindHost } from './kind-host.ts';

const key = ['--host-key', '/etc/ssh/host_key'];
const accept = ['--accept', 'shell-reads-home'];
const dryRun = 'dry run: nothing was changed\n';

describe('berth sshd new', () => {
  let node: KindHost;
  let port: number;
  let other: number;

  beforeAll(async () => {
    node = await KindHost.start();
    ({ port, other } = await freePorts(['port', 'other']));
  });
  afterAll(() => node.stop());

  const make = (name: string, at: number, ...more: readonly string[]) =>
    node.sshd('new', name, '--port', String(at), ...key, ...accept, ...more);

  it('puts nothing in place while the linter has a critical finding, unless it is accepted', async () => {
    const refused = await node.sshd('new', 'podman', '--port', String(port), ...key);
    expect(refused).toMatchObject({ exitCode: 78, stdout: '' });
    expect(refused.stderr).toContain('[sshd-kind-open]');
    expect(refused.stderr).toContain('(shell-reads-home)');
    expect(await node.files()).toEqual([]);
  });

  it('prints the file in a dry run, and writes nothing', async () => {
    const { exitCode, stdout, stderr } = await make('podman', port, '--dry-run');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: dryRun });
    expect(stdout).toContain(`/etc/ssh/berth/podman.conf would be made`);
    expect(stdout).toContain(`Port ${port}\nPidFile none\nHostKey /etc/ssh/host_key\n`);
    expect(await node.files()).toEqual([]);
  });

  it('writes the limits that an sshd behind balancers needs, as far as this sshd knows them', async () => {
    await node.shell(
      "mkdir /etc/behind; printf 'rules: [{profile: base}]\\nbalancers: [192.0.2.1, 192.0.2.2]\\n' >/etc/behind/ssh.yml",
    );
    const { exitCode, stdout, stderr } = await make(
      ...(['podman', port, '--config-dir', '/etc/behind', '--dry-run'] as const),
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: dryRun });
    expect(stdout).toContain('\nMaxStartups 500:30:1000\n');
    expect(stdout).not.toMatch(/^PerSourcePenaltyExemptList/m);
    expect(stdout).not.toContain('balancer-max-startups');
    expect(stdout).toContain('port-unprivileged');
    const { stdout: alone } = await make('podman', port, '--dry-run');
    expect(alone).not.toContain('MaxStartups 500:30:1000');
  });

  it('makes a configuration with which sshd starts the login program with the profile', async () => {
    await node.shell('echo Welcome to kind podman >/etc/ssh/kind-banner');
    const more = ['--profile', 'base', '--banner', '/etc/ssh/kind-banner'];
    const made = await make('podman', port, '--address', '127.0.0.1', ...more);
    expect(made).toMatchObject({ exitCode: 0, stderr: '' });
    expect(made.stdout).toContain('/etc/ssh/berth/podman.conf was made\n');
    const { stdout: written } = await node.shell('cat /etc/ssh/berth/podman.conf');
    expect(written).toContain('\nSubsystem sftp /usr/lib/openssh/sftp-server\n');
    expect(await node.files()).toEqual(['podman.conf']);

    await node.startKind('podman', port);
    await node.allowKeyInHome();
    const { host } = node;
    const login = await host.asRoot([
      ...['ssh', '-i', host.key('ada'), '-o', 'BatchMode=yes', '-o', 'StrictHostKeyChecking=no'],
      ...['-p', String(port), 'ada@127.0.0.1', 'true'],
    ]);
    expect(login.stderr).toContain('Welcome to kind podman');
    await expect
      .poll(() => host.log())
      .toMatch(/Starting session: forced-command .*--profile base/);
  });

  it('refuses a port that is in use or that another configuration names', async () => {
    for (const [at, why] of [
      [node.host.port, '/etc/ssh/sshd_config names it'],
      [port, '/etc/ssh/berth/podman.conf names it'],
    ] as const) {
      const { exitCode, stderr } = await make('second', at);
      expect({ exitCode, stderr }).toMatchObject({ exitCode: 78 });
      expect(stderr).toContain('[port-taken]');
      expect(stderr).toContain(why);
    }
    const listener = await node.shell(
      `${installDirectory}/node -e 'require("net").createServer().listen(${other}, "127.0.0.1")' >/dev/null 2>&1 & echo $!`,
    );
    await expect
      .poll(async () => (await make('second', other, '--dry-run')).stderr)
      .toMatch(/\/node \(PID \d+\) at 127\.0\.0\.1 listens on it \[port-taken\]/);
    const elsewhere = await make('second', other, '--address', '127.0.0.2', '--dry-run');
    expect(elsewhere).toMatchObject({ exitCode: 0, stderr: dryRun });
    await node.shell(`kill ${listener.stdout.trim()}`);
    expect(await node.files()).toEqual(['podman.conf']);
  });

  it('keeps the former file, shows the difference, and says how to undo it', async () => {
    const before = (await node.shell('cat /etc/ssh/berth/podman.conf')).stdout;
    const changed = await make('podman', port, '--address', '127.0.0.1');
    expect(changed).toMatchObject({ exitCode: 0, stderr: '' });
    expect(changed.stdout).toContain('-Banner /etc/ssh/kind-banner');
    const [, kept = ''] = /the former file is (\S+)/.exec(changed.stdout) ?? [];
    expect((await node.shell(`cat ${kept}`)).stdout).toBe(before);
    expect(changed.stdout).toContain(`\nto undo it:\n  mv ${kept} /etc/ssh/berth/podman.conf`);

    const again = await make('podman', port, '--address', '127.0.0.1');
    expect(again.stdout).toContain('/etc/ssh/berth/podman.conf has these contents already');
    expect(await node.files()).toHaveLength(2);

    await node.shell("echo '# ours' >>/etc/ssh/berth/podman.conf");
    const refused = await make('podman', port);
    expect(refused).toMatchObject({ exitCode: 78 });
    expect(refused.stderr).toContain('podman.conf was edited since');
    expect((await node.shell('tail -n 1 /etc/ssh/berth/podman.conf')).stdout).toBe('# ours\n');
    expect((await make('podman', port, '--dry-run')).stdout).toContain('-# ours');
    const replaced = await make('podman', port, '--address', '127.0.0.1', '--overwrite');
    expect(replaced).toMatchObject({ exitCode: 0, stderr: '' });
    const [, own = ''] = /the former file is (\S+)/.exec(replaced.stdout) ?? [];
    expect((await node.shell(`tail -n 1 ${own}; rm ${own}`)).stdout).toBe('# ours\n');
  });

  it.each([
    ['../../cron.d/x', 2222, [], '[sshd-kind-name-invalid]'],
    ['a b', 2222, [], '[sshd-kind-name-invalid]'],
    ['..', 2222, [], '[sshd-kind-name-invalid]'],
    ['second', 0, [], 'must be a port from 1 to 65535 [usage]'],
    ['second', 70_000, [], 'must be a port from 1 to 65535 [usage]'],
    ['second', 2222, ['--profile', 'bsae'], 'Did you mean base?'],
    ['second', 2222, ['--profile', 'base', '--mode', 'login-shell'], '--profile cannot be used'],
    ['second', 2222, ['--address', 'localhost'], 'not an IP address [usage]'],
    ['second', 2222, ['--banner', '/etc/ssh/absent'], 'no such file [usage]'],
    ['second', 2222, ['--banner', '/etc/motd\nPermitRootLogin yes'], 'without blanks'],
  ])('refuses %j at port %s %j', async (name, at, more, said) => {
    const before = await node.files();
    const { exitCode, stderr } = await make(name, at, ...more);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 64 });
    expect(stderr).toContain(said);
    expect(await node.files()).toEqual(before);
  });

  it('refuses a key that sshd does not accept, in words of the final file', async () => {
    const only = ['--host-key', '/etc/motd', '--port', String(other)];
    const { exitCode, stderr } = await node.sshd('new', 'second', ...only, ...accept);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 78 });
    expect(stderr).toMatch(/^berth: sshd refuses \/etc\/ssh\/berth\/second\.conf: .*\/etc\/motd/);
  });

  it('takes the mode of the other kinds, in which no option chooses the profile', async () => {
    const head = '# sshd of berth-sshd@shell.service (login-shell).';
    await node.shell(`rm -f /etc/ssh/berth/*.conf; echo '${head}' >/etc/ssh/berth/shell.conf`);
    const refused = await make('viz', other, '--profile', 'base');
    expect(refused).toMatchObject({ exitCode: 64 });
    expect(refused.stderr).toContain(
      `\`rules: [{ profile: base, ports: [${other}] }]\` into ssh.yml`,
    );
    expect((await make('viz', other)).stdout).toContain('viz.conf was made');
    const { stdout } = await node.shell('head -n 3 /etc/ssh/berth/viz.conf');
    expect(stdout).toContain('(login-shell)');
    const forced = await make('viz', other, '--profile', 'base', '--mode', 'forced');
    expect(forced, forced.stderr).toMatchObject({ exitCode: 0 });
  });
});
