import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../rig/free-ports.ts';
import { KindHost } from './kind-host.ts';

const key = ['--host-key', '/etc/ssh/host_key'];
const accept = ['--accept', 'shell-reads-home'];

describe('berth sshd list and check', () => {
  let node: KindHost;
  let ports: { readonly one: number; readonly two: number };

  beforeAll(async () => {
    node = await KindHost.start();
    ports = await freePorts(['one', 'two']);
  });
  afterAll(() => node.stop());

  /** The codes of the problems that `berth sshd check` prints of a kind. */
  const codes = async (name = 'one'): Promise<string[]> => {
    const { stdout } = await node.sshd('check', name);
    return Array.from(stdout.matchAll(/^\S+: .* \[(\S+)\]$/gm), ([, code = '']) => code);
  };

  it('list nothing on a host without kinds', async () => {
    expect(await node.sshd('list')).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await node.sshd('check')).toMatchObject({
      exitCode: 0,
      stdout: 'no kinds of session: `berth sshd new` makes one\n',
    });
  });

  it('say what a kind is and whether it runs', async () => {
    const port = String(ports.one);
    await node.sshd('new', 'one', '--port', port, '--profile', 'base', ...key, ...accept);
    expect((await node.sshd('list')).stdout).toMatch(
      new RegExp(`^NAME .*\\none +\\S+:${port} +base +not running +SHA256:`),
    );
    expect(await codes()).toContain('sshd-not-running');
    expect(await node.sshd('check', 'one')).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(
        /^one: no sshd runs with this configuration \[sshd-not-running\]\n *next: Run `mkdir/m,
      ) as unknown,
    });
    await node.startKind('one', ports.one);
    expect(await codes()).not.toContain('sshd-not-running');
    const { stdout } = await node.shell('cat /run/one.pid; ssh-keygen -lf /etc/ssh/host_key');
    const [pid, hostKey = ''] = stdout.split('\n');
    const listed = (await node.sshd('list')).stdout;
    expect(listed).toContain(` running (PID ${pid}) `);
    expect(listed).toContain(` ${hostKey.split(' ')[1]}`);
    expect(await codes()).not.toContain('shell-reads-home');
  });

  it('find settings that the running sshd has not read, until it starts again', async () => {
    const before = await codes();
    expect(before).not.toContain('settings-not-loaded');
    await node.shell("sed -i 's/^MaxSessions.*//; $a MaxSessions 2' /etc/ssh/berth/one.conf");
    expect(await codes()).toEqual(
      expect.arrayContaining(['settings-not-loaded', 'max-sessions-low']),
    );
    await node.stopKind('one');
    await node.startKind('one', ports.one);
    expect(await codes()).not.toContain('settings-not-loaded');
    await node.shell("sed -i '$d' /etc/ssh/berth/one.conf");
  });

  it('know that an sshd which was started as they say has been reloaded', async () => {
    await node.stopKind('one');
    const { stdout } = await node.sshd('check', 'one');
    await node.shell(/next: Run `(mkdir [^`]+)`/.exec(stdout)?.[1] ?? 'false');
    await node.shell(`until [ -s /run/berth-sshd-one.pid ]; do sleep 0.1; done; sleep 0.1
      sed -i '$a MaxSessions 3' /etc/ssh/berth/one.conf`);
    expect(await codes()).toContain('settings-not-loaded');
    const pid = '$(cat /run/berth-sshd-one.pid)';
    const reload = /next: Run `(kill -HUP \d+)`/.exec(
      (await node.sshd('check', 'one')).stdout,
    )?.[1];
    await node.shell(`[ '${reload}' = "kill -HUP ${pid}" ]; ${reload}`);
    await expect.poll(codes).not.toContain('settings-not-loaded');
    await node.shell(`pid=${pid}; kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.1; done
      sed -i '$d' /etc/ssh/berth/one.conf`);
    await node.startKind('one', ports.one);
  });

  it('find a port that two files name, and a file that sshd refuses', async () => {
    await node.shell(`
      sed 's/^Port .*/Port ${ports.one}/' /etc/ssh/berth/one.conf >/etc/ssh/berth/copy.conf
      echo Nonsense yes >/etc/ssh/berth/broken.conf`);
    for (const name of ['copy', 'one']) expect(await codes(name)).toContain('port-named-twice');
    expect(await codes('broken')).toContain('sshd-refused');
    const { stdout, exitCode } = await node.sshd('check', 'broken');
    expect(exitCode).toBe(1);
    expect(stdout).toContain('Nonsense');
    // sshd's last line only counts those before.
    const linted = await node.shell(
      `${node.berth} sshd lint --sshd-config /etc/ssh/berth/broken.conf || true`,
    );
    expect(linted.stderr).toMatch(/sshd refuses .*line 1: Bad configuration option: Nonsense; /);
    await node.shell('rm /etc/ssh/berth/{copy,broken}.conf');
  });

  it('say what to do where sshd has not run since the boot, as the linter does', async () => {
    await node.shell('mv /run/sshd /run/sshd.before');
    const lint = async () => (await node.shell(`${node.berth} sshd lint || true`)).stderr;
    const said = await lint();
    expect(said).toMatch(/sshd_config was not checked: sshd has not run since the boot/);
    expect(said).not.toContain('privilege separation');
    await node.shell(/next: Run `(mkdir [^`]+)`/.exec(said)?.[1] ?? 'false');
    expect(await lint()).toBe('');
  });

  it('name the nearest kind for one that does not exist', async () => {
    const { exitCode, stderr } = await node.sshd('check', 'onne');
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 64 });
    expect(stderr).toContain('Did you mean one?');
  });
});
