import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';

let directory: string;
let file: string;
let list: string;

beforeAll(() => ensurePackages(['haproxy']));
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-balancer-'));
  file = join(directory, 'haproxy.cfg');
  list = join(directory, 'balancer.yml');
  await listNodes('192.0.2.11');
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** balancer.yml with one kind on these nodes. */
async function listNodes(...addresses: readonly string[]): Promise<void> {
  const nodes = addresses.map((address, index) => ({ name: `n${index}`, address }));
  const kinds = [{ name: 'podman', system: 'alpha', port: 22 }];
  await writeFile(
    list,
    JSON.stringify({ hostname: 'login.example.org', systems: [{ name: 'alpha', nodes }], kinds }),
  );
}

async function write(...args: readonly string[]) {
  const to = args.includes('--write') ? [] : ['--write', file];
  const { exitCode, stdout, stderr } = await execa(
    join(installDirectory, 'berth'),
    ['render', 'balancer', '--list', list, '--no-check-nodes', ...to, ...args],
    { reject: false },
  );
  return { exitCode, stdout, stderr };
}

const text = (path = file): Promise<string> => readFile(path, 'utf8');
const names = async (): Promise<string[]> => (await readdir(directory)).sort();

describe('berth render balancer --write', () => {
  it('makes the file, and says how to use it', async () => {
    const { exitCode, stdout, stderr } = await write();
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`${file} was made`);
    expect(stdout).toContain('systemctl reload-or-restart haproxy');
    expect(await text()).toContain('server n0 192.0.2.11:22');
    expect((await stat(file)).mode & 0o777).toBe(0o644);
  });

  it('changes nothing the second time', async () => {
    await write();
    const { mtimeMs } = await stat(file);
    const { exitCode, stdout } = await write();
    expect([exitCode, stdout]).toEqual([0, `${file} has these contents already`]);
    expect((await stat(file)).mtimeMs).toBe(mtimeMs);
    expect(await names()).toEqual(['balancer.yml', 'haproxy.cfg']);
  });

  it('replaces its own file, shows the difference, keeps the former one, and says how to undo it', async () => {
    await write();
    const former = await text();
    await listNodes('192.0.2.11', '192.0.2.12');
    const { exitCode, stdout } = await write();
    expect(exitCode).toBe(0);
    expect(stdout).toContain('+    server n1 192.0.2.12:22');
    expect(stdout).toContain(
      `\nto undo it:\n  mv ${file}.former ${file} && systemctl reload haproxy`,
    );
    expect(await text(`${file}.former`)).toBe(former);
    expect(await text()).toContain('server n1 192.0.2.12:22');
  });

  it.each([
    ['was edited', (own: string) => own.replace('maxconn 2000', 'maxconn 3000')],
    ['is the one of the package', () => 'global\n\tdaemon\n'],
  ])('does not touch a file that %s, and shows the difference', async (_, edit) => {
    await write();
    const edited = edit(await text());
    await writeFile(file, edited);
    const { exitCode, stdout, stderr } = await write();
    expect(exitCode).toBe(78);
    expect(stderr).toContain('[balancer-file-edited]');
    expect(stdout).toContain('+    maxconn 2000');
    expect(await text()).toBe(edited);
    expect(await names()).toEqual(['balancer.yml', 'haproxy.cfg']);
  });

  it('replaces an edited file if told so, and keeps it for good', async () => {
    const edited = ['# mine\n', '# mine, too\n'];
    for (const one of edited) {
      await writeFile(file, one);
      expect((await write('--overwrite')).exitCode).toBe(0);
    }
    const kept = (await names()).filter((name) => /^haproxy\.cfg\.edited-\d{8}T\d{9}Z$/.test(name));
    expect(await Promise.all(kept.map((name) => text(join(directory, name))))).toEqual(edited);
  });

  it('leaves everything as it was if haproxy refuses the new file, or is not there', async () => {
    await write();
    const before = await text();
    await listNodes('192.0.2.12');
    // The real one, with a line that it does not know.
    const refusing = join(directory, 'haproxy');
    await writeFile(join(directory, 'unknown.cfg'), 'global\n    no-such-keyword\n');
    const command = `exec /usr/sbin/haproxy "$@" -f ${directory}/unknown.cfg`;
    await writeFile(refusing, `#!/bin/sh\n${command}\n`, { mode: 0o755 });
    const refused = await write('--haproxy', refusing);
    expect(refused.exitCode).toBe(78);
    expect(refused.stderr).toContain("unknown keyword 'no-such-keyword'");
    expect(refused.stderr).toContain('[haproxy-refused]');
    const missing = await write('--haproxy', '/nowhere/haproxy');
    expect(missing.exitCode).toBe(69);
    expect(missing.stderr).toContain('[haproxy-missing]');
    expect(await text()).toBe(before);
    expect(await names()).toEqual(['balancer.yml', 'haproxy', 'haproxy.cfg', 'unknown.cfg']);
  });

  it('writes the name of this host among several balancers, or asks for it', async () => {
    const withBalancers = async (...hosts: readonly string[]): Promise<void> => {
      const one = JSON.parse(await text(list)) as object;
      const balancers = hosts.map((name, index) => ({ name, address: `192.0.2.${index + 1}` }));
      await writeFile(list, JSON.stringify({ ...one, balancers }));
    };
    await withBalancers('lb1', 'lb2');
    const unknown = await write();
    expect(unknown.exitCode).toBe(64);
    expect(unknown.stderr).toContain('[balancer-unknown]');
    expect((await write('--balancer', 'lb2')).exitCode).toBe(0);
    expect(await text()).toContain('localpeer lb2\n');
    await withBalancers('lb1', hostname());
    expect((await write()).exitCode).toBe(0);
    expect(await text()).toContain(`localpeer ${hostname()}\n`);
  });

  it.each([
    ['a FIFO', ['mkfifo', 'FILE'], 78, '[balancer-file-unsafe]'],
    [
      'a symlink that leads nowhere',
      ['ln', '-s', 'FILE.absent', 'FILE'],
      78,
      '[balancer-file-unsafe]',
    ],
    [
      'a file of another user',
      ['install', '-o', 'nobody', '/etc/hostname', 'FILE'],
      78,
      '[balancer-file-unsafe]',
    ],
    ['a directory', ['mkdir', 'FILE'], 64, 'haproxy.cfg is a directory [usage]'],
  ])('does not touch %s in a directory like /tmp', async (_, command, status, said) => {
    const shared = join(directory, 'shared');
    await mkdir(shared);
    await chmod(shared, 0o1777);
    const there = join(shared, 'haproxy.cfg');
    const [program = '', ...args] = command.map((word) => word.replace('FILE', there));
    await execa(program, args);
    const { exitCode, stderr } = await write('--write', there, '--overwrite');
    expect(stderr).toContain(said);
    expect(exitCode).toBe(status);
    expect(await readdir(shared)).toEqual(['haproxy.cfg']);
  });

  it('refuses a directory that others can write', async () => {
    const open = join(directory, 'open');
    await mkdir(open);
    await chmod(open, 0o777);
    const { exitCode, stderr } = await write('--write', join(open, 'haproxy.cfg'));
    expect(exitCode).toBe(78);
    expect(stderr).toContain('[config-directory-writable]');
  });
});
