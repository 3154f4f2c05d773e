import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';

const root = new URL('../../../', import.meta.url).pathname;
const example = join(root, 'etc/berth/balancer.yml.example');
let directory: string;

beforeAll(async () => {
  await ensurePackages(['haproxy']);
  directory = await mkdtemp(join(tmpdir(), 'berth-balancer-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function berth(
  ...args: readonly string[]
): Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }> {
  const { exitCode, stdout, stderr } = await execa(
    join(installDirectory, 'berth'),
    ['render', 'balancer', ...args],
    { reject: false, stripFinalNewline: false },
  );
  return { exitCode: exitCode ?? -1, stdout, stderr };
}

/** What haproxy says of a configuration, as the balancer lb1. */
async function checked(text: string): Promise<{ readonly valid: boolean; readonly said: string }> {
  const file = join(directory, 'haproxy.cfg');
  await writeFile(file, text);
  const { exitCode, stderr } = await execa('/usr/sbin/haproxy', ['-c', '-L', 'lb1', '-f', file], {
    reject: false,
  });
  return { valid: exitCode === 0, said: stderr };
}

/** balancer.yml with one kind for one system. */
function listOf(
  nodes: readonly string[],
  kind: object = {},
  balancers?: readonly object[],
): string {
  return JSON.stringify({
    hostname: 'login.example.org',
    systems: [
      { name: 'alpha', nodes: nodes.map((address, index) => ({ name: `n${index}`, address })) },
    ],
    kinds: [{ name: 'podman', system: 'alpha', port: 22, ...kind }],
    ...(balancers === undefined ? {} : { balancers }),
  });
}

describe('haproxy of Debian', () => {
  it('accepts etc/haproxy/haproxy.cfg, which is printed for the example, without a warning', async () => {
    const { stdout } = await berth('--list', example);
    expect(stdout).toBe(await readFile(join(root, 'etc/haproxy/haproxy.cfg'), 'utf8'));
    const { valid, said } = await checked(stdout);
    expect(said).not.toMatch(/WARNING|ALERT/);
    expect(valid).toBe(true);
  });

  it.each([
    ['one node', listOf(['192.0.2.11'])],
    ['IPv6 nodes', listOf(['::1', '2001:db8::12'])],
    [
      'IPv6 balancers and nodes',
      listOf(['2001:db8::11', '::ffff:192.0.2.12'], { together: true }, [
        { name: 'lb1', address: '2001:db8::1' },
        { name: 'lb2', address: '192.0.2.2' },
      ]),
    ],
    ['host names', listOf(['localhost', 'does-not-exist.invalid'])],
    ['users who stay together', listOf(['192.0.2.11'], { together: true })],
    ['transparent', listOf(['192.0.2.11', '::1'], { client_address: 'transparent' })],
    ['200 nodes', listOf(Array.from({ length: 200 }, (_, index) => `10.0.0.${index + 1}`))],
  ])('accepts what is printed for %s', async (_, list) => {
    const file = join(directory, 'balancer.yml');
    await writeFile(file, list);
    const { exitCode, stdout } = await berth('--list', file);
    expect(exitCode).toBe(0);
    const { valid, said } = await checked(stdout);
    expect(said).not.toContain('ALERT');
    expect(valid).toBe(true);
  });
});

describe('berth render balancer', () => {
  it('prints nothing for a list with a mistake, and names the line', async () => {
    const file = join(directory, 'balancer.yml');
    await writeFile(file, 'hostname: login.example.org\nsytems: []\n');
    const { exitCode, stdout, stderr } = await berth('--list', file);
    expect([exitCode, stdout]).toEqual([78, '']);
    expect(stderr).toContain(`${file}:2:1: sytems is unknown: did you mean systems?`);
    expect(stderr).toContain('[balancer-yml-invalid]');
  });

  it('refuses a list that others can write', async () => {
    const file = join(directory, 'others.yml');
    await writeFile(file, listOf(['192.0.2.11']));
    await chmod(file, 0o666);
    const { exitCode, stderr } = await berth('--list', file);
    expect(exitCode).toBe(78);
    expect(stderr).toContain('[config-writable-by-others]');
  });

  it.each([
    [['--overwrite'], '--overwrite needs --write'],
    [
      ['--for', 'kubernetes', '--write', '/nowhere'],
      '--write cannot be used with --for kubernetes',
    ],
    [['--for', 'kubernetes', '--balancer', 'lb1'], '--balancer cannot be used with --for'],
    [['--balancer', 'lb3'], 'there is no balancer lb3; there are: lb1, lb2'],
    [
      ['--kind', 'pod'],
      '--kind pod: balancer.yml has no such kind of sessions; it has: podman, pods',
    ],
  ])('refuses %j', async (args, message) => {
    const { exitCode, stdout, stderr } = await berth('--list', example, ...args);
    expect([exitCode, stdout]).toEqual([64, '']);
    expect(stderr).toContain(message);
  });
});
