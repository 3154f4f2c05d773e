import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePorts } from '../../rig/free-ports.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { repetitions } from '../../rig/soak.ts';
import { type BerthResult, KindHost } from './kind-host.ts';

/** sshd, which waits before it checks a configuration as long as /run/hold exists. */
const slowSshd = `#!/bin/sh
if [ "$1" = -t ] && [ -e /run/hold ]; then
  : >/run/held
  while [ -e /run/hold ]; do sleep 0.02; done
fi
exec /usr/sbin/sshd "$@"
`;

/** Without the first line, which has a checksum. */
const below = (text: string): string => text.slice(text.indexOf('\n'));

describe('berth sshd new, interrupted or several at once', () => {
  let node: KindHost;
  let port: number;
  let other: number;

  beforeAll(async () => {
    node = await KindHost.start();
    ({ port, other } = await freePorts(['port', 'other']));
    await node.shell(`cat >/usr/local/sbin/slow-sshd <<'END'\n${slowSshd}END
      chmod +x /usr/local/sbin/slow-sshd`);
  });
  beforeEach(() => node.shell('rm -rf /etc/ssh/berth /run/hold /run/held'));
  afterAll(() => node.stop());

  const args = (name: string, at: number, ...more: readonly string[]): readonly string[] => [
    ...['new', name, '--port', String(at), '--host-key', '/etc/ssh/host_key'],
    ...['--accept', 'shell-reads-home', '--sshd', '/usr/local/sbin/slow-sshd', ...more],
  ];
  const make = (name: string, at: number, ...more: readonly string[]): Promise<BerthResult> =>
    node.sshd(...args(name, at, ...more));
  const textOf = async (file: string): Promise<string> =>
    (await node.shell(`cat /etc/ssh/berth/${file} 2>/dev/null || true`)).stdout;

  /** Runs `during` while another `berth sshd new`, which is killed afterwards, has staged its file and waits for sshd. */
  async function killedWhileChecking(name: string, at: number): Promise<void> {
    await node.shell('touch /run/hold');
    const killed = node.shell(
      `${node.berth} sshd ${args(name, at).join(' ')} & echo $! >/run/new.pid; wait $! || echo $?`,
    );
    const held = { what: 'sshd to be asked', timeoutMs: 60_000, everyMs: 20 };
    await waitFor(
      held,
      async () => (await node.shell('test -e /run/held')).exitCode === 0 || undefined,
    );
    expect(await node.files()).toContain('.new.lock');
    await node.shell('kill -KILL "$(cat /run/new.pid)"; rm /run/hold');
    expect((await killed).stdout).toBe('137\n');
  }

  it('two with the same name: the second waits, and finds that nothing is left to do', async () => {
    const both = await Promise.all([make('podman', port), make('podman', port)]);
    expect(both).toMatchObject([{ exitCode: 0 }, { exitCode: 0 }]);
    const said = both.map(({ stdout }) => stdout.split('\n')[0]).sort();
    expect(said).toEqual([
      '/etc/ssh/berth/podman.conf has these contents already',
      '/etc/ssh/berth/podman.conf was made',
    ]);
    expect(await node.files()).toEqual(['podman.conf']);
  });

  it('two with the same name and other ports: the second replaces the first, which is kept whole', async () => {
    const both = await Promise.all([make('podman', port), make('podman', other)]);
    expect(both).toMatchObject([{ exitCode: 0 }, { exitCode: 0 }]);
    const [, kept = ''] = await node.files();
    expect(kept).toMatch(/^podman\.conf\.\d{8}T\d{6}Z$/);
    const texts = [await textOf(kept), await textOf('podman.conf')];
    expect(texts.map((text) => /^Port (.*)$/m.exec(text)?.[1]).sort()).toEqual(
      [port, other].map(String).sort(),
    );
    const [before, after] = texts.map((text) => below(text).replace(/^Port .*$/m, ''));
    expect(before).toBe(after);
  });

  it('two with the same port: one gets it, and the other is told by whom it is taken', async () => {
    const both = await Promise.all([make('first', port), make('second', port)]);
    const [refused] = both.filter(({ exitCode }) => exitCode !== 0);
    expect(both.map(({ exitCode }) => exitCode).sort()).toEqual([0, 78]);
    const [file = ''] = await node.files();
    expect(refused?.stderr).toContain(`/etc/ssh/berth/${file} names it [port-taken]`);
    expect(await node.files()).toHaveLength(1);
  });

  it('killed before the file is in place: there is none, and the next run works', async () => {
    await killedWhileChecking('podman', port);
    expect((await node.files()).filter((name) => !name.startsWith('.'))).toEqual([]);
    expect(await make('podman', port)).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await node.files()).toEqual(['podman.conf']);
  });

  it('killed while it changes a file: the former one stays, and its port stays taken', async () => {
    await make('podman', port);
    const before = await textOf('podman.conf');
    await killedWhileChecking('podman', other);
    expect(await textOf('podman.conf')).toBe(before);
    expect((await make('second', port)).stderr).toContain('/etc/ssh/berth/podman.conf names it');
    expect(await make('second', other)).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await make('podman', port)).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await node.files()).toEqual(['podman.conf', 'second.conf']);
  });

  it('killed at any time: each configuration is whole or not there', async () => {
    await make('whole', port);
    const whole = below((await textOf('whole.conf')).replaceAll('whole', 'podman'));
    const ports = [port, other];
    await node.shell('rm /etc/ssh/berth/whole.conf');
    for (let round = 0; round < repetitions(8, 100); round += 1) {
      const seconds = (0.1 + Math.random() * 0.6).toFixed(3);
      const at = ports[round % 2] ?? port;
      await node.shell(
        `timeout --signal=KILL ${seconds} ${node.berth} sshd ${args('podman', at).join(' ')} || true`,
      );
      const texts = [whole, whole.replace(`Port ${port}\n`, `Port ${other}\n`)];
      for (const name of (await node.files()).filter((each) => !each.startsWith('.')))
        expect(texts).toContain(below(await textOf(name)));
    }
    expect(await make('podman', port)).toMatchObject({ exitCode: 0, stderr: '' });
    expect((await node.files()).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  // Limits of the file system: the lock, the new file and the second name of the former one each need an inode.
  it.each([
    ['without room for a file', 'size=4k', 'podman.conf'],
    ['without an inode for the lock', 'nr_inodes=2', '.new.lock'],
    ['without an inode for the new file', 'nr_inodes=3', 'podman.conf'],
    ['without an inode for the former file', 'nr_inodes=4', String.raw`podman\.conf\.\d{8}T\d{6}Z`],
  ])('a disk %s: the former file stays, and the next run works', async (_, limit, named) => {
    await node.shell('mkdir -m 0755 /etc/ssh/berth');
    await node.shell('mount -t tmpfs -o mode=0755 tmpfs /etc/ssh/berth');
    try {
      expect(await make('podman', port)).toMatchObject({ exitCode: 0 });
      const before = await textOf('podman.conf');
      await node.shell(`mount -o remount,${limit} /etc/ssh/berth`);
      const { exitCode, stdout, stderr } = await make('podman', other);
      expect({ exitCode, stdout }).toEqual({ exitCode: 74, stdout: '' });
      expect(stderr).toMatch(
        new RegExp(
          `^berth: /etc/ssh/berth/${named} cannot be written: the disk is full \\[disk-full\\]`,
        ),
      );
      expect(stderr).toContain('then try again');
      expect(await node.files()).toEqual(['podman.conf']);
      expect(await textOf('podman.conf')).toBe(before);
      await node.shell('mount -o remount,size=1m,nr_inodes=100 /etc/ssh/berth');
      expect(await make('podman', other)).toMatchObject({ exitCode: 0, stderr: '' });
      expect(await node.files()).toHaveLength(2);
    } finally {
      await node.shell('umount /etc/ssh/berth');
    }
  });
});
