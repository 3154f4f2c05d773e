import { symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { berthDocument } from '../../rig/berth-document.ts';
import { installDirectory, Portal } from '../../rig/site/portal.ts';
import { openSite } from '../../rig/site/site.ts';

const berth = join(installDirectory, 'berth');
let portal: Portal;

beforeAll(async () => {
  portal = await Portal.make(await openSite());
});
afterAll(() => portal.remove());

const run = (...args: string[]) =>
  execa(berth, args, { reject: false, env: { LANG: 'de_DE.UTF-8' }, input: '' });

/** On a terminal, as script(1) makes one. */
async function onTerminal(args: readonly string[], env: Record<string, string>): Promise<string> {
  const command = [berth, ...args].map((word) => `'${word}'`).join(' ');
  const { stdout } = await execa('script', ['-qec', command, '/dev/null'], {
    reject: false,
    extendEnv: false,
    env: { PATH: '/usr/bin:/bin', TERM: 'xterm', LANG: 'C.UTF-8', ...env },
    stdin: 'ignore',
  });
  return stdout;
}

describe('the command line', () => {
  it('finds the installed files when it is run through a symlink', async () => {
    const link = join(portal.directory, 'berth');
    await symlink(berth, link);
    const { stdout } = await execa(link, ['images', 'files', '--help']);
    expect(stdout.replaceAll(/\s+/g, '')).toContain(`[default:${installDirectory}/files]`);
  });

  it.each([
    [[], 'a command is missing'],
    [['frobnicate'], 'Unknown argument: frobnicate'],
    [['doctr'], 'Unknown argument: doctr (did you mean doctor?)'],
    [['doctor', '--debgu'], 'Unknown argument: debgu (did you mean --debug?)'],
    [['explain', 'token-expierd'], 'did you mean token-expired?'],
    [['explain', 'rules.usres'], 'did you mean rules.users?'],
    [['doctor', '--usr', 'alice'], 'Unknown argument: usr (did you mean --user?)'],
    [['doctor', '--user'], 'Not enough arguments following: user'],
    [['doctor', '-o', 'xml'], 'Given: "xml", Choices: "text", "json"'],
    [['doctor', 'alice'], 'Unknown argument: alice'],
    [['render'], 'Missing required argument: user'],
    [['render', 'policies', '--kubernetes', 'latest'], '--kubernetes latest is not a version'],
    [['render', 'policies', '--kubernetes', '1.29'], 'Kubernetes 1.29 has no ValidatingAdmission'],
    [
      ['render', 'policies', '--kubernetes', '1.34', '--engine', 'kyverno'],
      '--kubernetes cannot be used with --engine kyverno',
    ],
    [['token'], 'needs a subcommand: rotate or setup'],
    [['token', 'rotate', '--lifetime', '24'], '--lifetime 24: must be a time such as 24h'],
    [['token', 'rotate', '--lifetime', '5m'], '--lifetime 5m: must be a time from 10m to 365d'],
    [['token', 'rotate', '--timeout', '0s'], '--timeout 0s: must be a time from 1s to 1d'],
    [['doctor', '--timeout', '99d'], '--timeout 99d: must be a time from 1s to 1d'],
    [['images', 'gc', '--grace', '9999d'], '--grace 9999d: must be a time from 0s to 3650d'],
    [
      ['plan', '--ssh', '--user', 'a', '--port', '99999'],
      '--port 99999: must be a port from 1 to 65535',
    ],
    [['plan', '--ssh', '--user', 'a', '--port', '0'], '--port 0: must be a port from 1 to 65535'],
    [['plan', '--ssh', '--user', 'a', '--port', 'x'], '--port must be a number'],
    [['sshd', 'lint', '--port', '99999'], '--port 99999: must be a port from 1 to 65535'],
    [
      ['token', 'rotate', '--kubeconfig', 'f', '--cluster', 'c'],
      '--kubeconfig cannot be used with --cluster',
    ],
    [['token', 'setup', '--service-account', 'x'], 'must be NAMESPACE/NAME'],
  ])('%j is refused with exit 64 and a next step', async (args, message) => {
    const { exitCode, stdout, stderr } = await run(...args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 64, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/^berth: .* \[usage\]\nnext: \S/);
    expect(stderr.split('\n')).toHaveLength(2);
  });

  it.each([
    [['--help']],
    [['plan', '--help']],
    [['render', '--help']],
    [['doctor', '--help']],
    [['explain', '--help']],
    [['token', 'rotate', '--help']],
    [['token', 'setup', '--help']],
  ])('%j shows examples and exits 0', async (args) => {
    const { exitCode, stdout, stderr } = await run(...args);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/Examples:\n {2}# .*\n {2}berth /);
  });

  it('explains an error code', async () => {
    const { exitCode, stdout } = await run('explain', 'code=token-expired');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('What to do:');
  });

  it('explains a key of the configuration', async () => {
    const { exitCode, stdout } = await run('explain', 'ssh.yml:rules.users');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^FILE: \/etc\/berth\/ssh\.yml\nKEY:  rules\.users <array>\n/);
  });

  it('explains a key and a check of the same name', async () => {
    expect((await run('explain', 'storage')).stdout).toMatch(
      /^FILE: [^]*\n\nstorage \(check of berth doctor\)\n/,
    );
  });

  it.each([
    ['explain', 'none', '-o', 'json'],
    ['explain', 'none', '--output=json'],
    ['explain', 'none', '-qojson'],
    ['sessions', 'list', '-Ao', 'json', '--namespace'],
  ])('prints an error for scripts with %j %j %j', async (...args) => {
    const { exitCode, stderr } = await run(...args);
    expect(berthDocument(stderr)).toMatchObject({ kind: 'Error', exitStatus: exitCode });
  });

  it('prints its version', async () => {
    expect((await run('--version')).stdout).toMatch(/^\d+\.\d+\.\d+$/);
    const { stdout: version } = await run('version', '-o', 'json');
    const git = ['-c', 'safe.directory=*', 'describe', '--always', '--dirty', '--abbrev=40'];
    const commit = await execa('git', [...git, '--exclude=*']).catch(() => undefined);
    expect(berthDocument(version)).toMatchObject({
      kind: 'Version',
      node: process.versions.node,
      architecture: process.arch,
      ...(commit !== undefined && { commit: commit.stdout }),
    });
  });
});

describe('on a terminal', () => {
  const args = (): string[] => ['doctor', '--config', portal.files.berth];

  it('doctor has colours', async () => {
    expect(await onTerminal(args(), {})).toContain('\u001b[32m✓');
  });

  it.each([[{ NO_COLOR: '1' }], [{ TERM: 'dumb' }]])(
    'doctor has no colours with %j',
    async (env) => {
      const shown = await onTerminal(args(), env);
      expect(shown).toContain('✓ node');
      expect(shown).not.toMatch(/\u001b\[\d+m/);
    },
  );

  it('doctor prints plain ASCII in a locale without UTF-8', async () => {
    const shown = await onTerminal(args(), { LC_ALL: 'C', NO_COLOR: '1' });
    expect(shown).toContain('ok   node');
    expect(shown).not.toMatch(/[^\u0000-\u007f]/);
  });

  it('shows after a second what it waits for, and removes the line at the end', async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = silent.address();
    const server = `https://127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0) : 0}`;
    const slow = await Portal.make(portal.site, {
      clusters: { slow: { server: { endpoint: server } } },
      kubeconfig: stringify({
        clusters: [{ name: 's', cluster: { server } }],
        users: [{ name: 's', user: { token: 'x' } }],
        contexts: [{ name: 's', context: { cluster: 's', user: 's' } }],
      }),
    });
    const words = ['doctor', '--timeout', '3s', '--config', slow.files.berth];
    const [shown, quiet, piped] = await Promise.all([
      onTerminal(words, {}),
      onTerminal([...words, '--quiet'], {}),
      run(...words),
    ]);
    silent.close();
    await slow.remove();
    expect(shown).toMatch(/\r\u001b\[Kchecking, at most 3s for each \(1 s\)/);
    expect(shown).toMatch(/\r\u001b\[Kthis host/);
    expect(quiet).toMatch(/^this host/);
    expect(piped.stderr).toBe('');
  });
});
