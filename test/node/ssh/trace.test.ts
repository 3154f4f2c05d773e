import { gzipSync } from 'node:zlib';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { refusedLogin } from '../../rig/login-node/refused-login.ts';
import { SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';

let host: SshHost;
beforeAll(async () => {
  host = await SshHost.start({
    ...{ mode: 'forced', users: { ada: [], bob: [] } },
    pam: `session optional pam_exec.so quiet ${installDirectory}/hooks/pam-session`,
    profiles: {
      base: { ...standardProfile, lifetime: 'connection' },
      broken: { ...standardProfile, image: 'localhost/no-such-image:1' },
    },
    sshYml: { rules: [{ users: ['bob'], profile: 'broken' }, { profile: 'base' }] },
  });
});
afterAll(() => host.stop());

/** The log of the host's syslog, in rsyslog's own format. */
const logFile = (): string => join(host.directory, 'syslog.as-usual');

/** `berth.session` of the user's containers. */
async function labelsOfContainers(user: string): Promise<string[]> {
  const { uid } = host.account(user);
  const own = `/var/lib/berth-ssh/users/${uid}`;
  const { stdout } = await host.asUser(user, [
    ...['env', `HOME=${own}`, 'podman', '--root', `${own}/storage`, '--storage-driver', 'overlay'],
    ...['--runroot', `/run/user/${uid}/containers`, '--tmpdir', `/run/user/${uid}/libpod/tmp`],
    ...['--storage-opt', 'mount_program=/usr/bin/fuse-overlayfs', '--cgroup-manager', 'cgroupfs'],
    ...['--storage-opt', 'additionalimagestore=/var/lib/berth-ssh/images'],
    ...['ps', '--format', '{{index .Labels "berth.session"}}'],
  ]);
  return stdout.toString().trim().split('\n');
}

async function trace(...words: string[]) {
  const command = [`${installDirectory}/berth`, 'trace', ...words];
  const { exitCode, stdout, stderr } = await host.asRoot(command);
  return { exitCode, stdout: stdout.toString(), stderr };
}

it('follows a session from sshd to its container and its end, and leaves out others', async () => {
  const session = await LiveSession.startReady(host, 'ada', 'cat');
  const other = await LiveSession.startReady(host, 'ada', 'cat');
  const labels = await labelsOfContainers('ada');
  await other.kill();
  await session.kill();
  await expect.poll(() => findLeftovers(host, 'ada')).toEqual(noLeftovers);
  await expect.poll(() => host.log()).toMatch(/(?:msg="session closed"[^]*){2}/);
  const [id = ''] = /(?<=session=)\S+/.exec(await host.log()) ?? [];
  expect(labels).toContain(id);
  expect(new Set(labels).size).toBe(2);

  const { exitCode, stdout } = await trace(id, '--file', logFile());
  const lines = stdout.trimEnd().split('\n');
  const [pid = ''] = id.split('.');
  const [child = ''] = /(?<=User child is on pid )\d+/.exec(stdout) ?? [];
  const known = new RegExp(`sshd\\[(?:${pid}|${child})\\]:|session=${id} `);
  for (const line of lines) expect(line).toMatch(known);
  const at = (pattern: RegExp): number => lines.findIndex((line) => pattern.test(line));
  const order = [
    /Accepted publickey for ada/,
    /msg="session opened"/,
    new RegExp(`sshd\\[${child}\\]: Starting session: .* for ada `),
    /msg="session closed"/,
  ];
  expect(order.map(at)).toEqual(order.map(at).toSorted((one, two) => one - two));
  expect(order.map(at)).not.toContain(-1);
  expect(exitCode).toBe(0);

  // A rotated file, and the ID without its host.
  await writeFile(`${logFile()}.1.gz`, gzipSync(await readFile(logFile())));
  const rotated = await trace(id.replace(/@.*/, ''), '--file', `${logFile()}.1.gz`);
  expect(rotated.stdout.trimEnd().split('\n')).toEqual(lines);
});

it('finds why a login was refused by what the user was told', async () => {
  const { line, code } = await refusedLogin(host, 'bob');
  const [, id = ''] = /session (\S+)\]/.exec(line) ?? [];
  expect(line).toContain('its syslog has the cause (berth trace)');
  // This host has no journal.
  expect((await trace(id)).stderr).toMatch(/--file .*\/var\/log\/auth\.log/);
  const { stdout } = await trace(id, '--file', logFile());
  expect(stdout).toContain('Accepted publickey for bob');
  expect(stdout).toContain(`code=${code}`);
});

it('shows text in UTF-8, and nothing that a terminal would obey', async () => {
  const file = join(host.directory, 'hostile.log');
  const head = '2026-01-02T03:04:05.678+01:00 login1';
  const long = `${head} berth: session=9.9@login1 ${'x'.repeat(2_000_000)}`;
  const lines = [`${head} berth: msg="caf\u00e9 \u001b[2J" session=9.9@login1`, '\0\0', '{', long];
  await writeFile(file, lines.join('\n'));
  const { exitCode, stdout } = await trace('9.9@login1', '--file', file);
  expect(exitCode).toBe(0);
  expect(stdout).toBe(
    '2026-01-02T02:04:05.678Z login1 berth: msg="caf\u00e9 \\u{1b}[2J" session=9.9@login1\n',
  );
});

it('says where else to look if there is nothing', async () => {
  const { exitCode, stdout, stderr } = await trace('4711.1@elsewhere', '--file', logFile());
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toContain('nothing about session 4711.1@elsewhere in these files');
});

it('says what it could not read, instead of that there is nothing', async () => {
  const line = '2026-01-02T03:04:05.678+01:00 login1 berth: msg="x" session=9.9@login1';
  const form = 'Fri, 02 Jan 2026 03:04 login1 berth session=9.9@login1 msg="y"';
  const rows: readonly [string, string | Buffer, string][] = [
    ['packed.log', gzipSync(line), 'has no line of a known form (is it compressed?)'],
    ['form.log', `${form}\n${form}\n`, 'has no line of a known form'],
    ['mixed.log', `${line.replaceAll('9', '8')}\n${form}\n`, 'names the session in 1 line of an'],
  ];
  for (const [name, text, said] of rows) {
    const file = join(host.directory, name);
    await writeFile(file, text);
    const { exitCode, stdout, stderr } = await trace('9.9@login1', '--file', file);
    expect({ exitCode, stdout }).toEqual({ exitCode: 74, stdout: '' });
    expect(stderr).toContain(`${file} ${said}`);
    expect(stderr).not.toContain('nothing about');
  }
  // What another file has is shown.
  const good = join(host.directory, 'good.log');
  await writeFile(good, line);
  const both = await trace('9.9@login1', '--file', good, join(host.directory, 'form.log'));
  expect({ exitCode: both.exitCode, lines: both.stdout.split('\n').length }).toEqual({
    ...{ exitCode: 0, lines: 2 },
  });
  expect(both.stderr).toContain('form.log has no line of a known form');
});

it('says on a host without a journal which file to read', async () => {
  await host.asRoot(['sh', '-c', 'mount -t tmpfs tmpfs /var/log; : >/var/log/secure']);
  const { exitCode, stderr } = await trace('4711.8812345@login1');
  await host.asRoot(['umount', '/var/log']);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 69,
    stderr:
      'berth: this host has no journal [journal-unreadable]\nnext: Run `berth trace 4711.8812345@login1 --file /var/log/secure`.\n',
  });
});

it('says on a host that keeps no log that there is none, and what to install', async () => {
  // The package of systemd has made the directory.
  await host.asRoot(['sh', '-c', 'mount -t tmpfs tmpfs /var/log; mkdir /var/log/journal']);
  const { exitCode, stderr } = await trace('4711.8812345@login1');
  await host.asRoot(['umount', '/var/log']);
  expect(exitCode).toBe(69);
  expect(stderr).toContain(
    'this host has no journal and no file of syslog: there is no log to read [journal-unreadable]\n',
  );
  expect(stderr).toMatch(/next: .* install and start rsyslog, or systemd-journald/);
  expect(stderr).not.toContain('nothing about');
});
