import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../../../src/companions/verify/run-client.ts';
import { SshHost } from '../../../rig/login-node/ssh-host.ts';
import { Canary } from './canary.ts';

const base = { image: 'localhost/berth-site:1', lifetime: 'user' };
const startFiles = ['.bashrc', '.bash_profile', '.bash_login', '.profile', '.zshenv', '.zshrc'];
const moreFiles = ['.kshrc', '.cshrc', '.login', '.bash_logout', '.config/fish/config.fish'];

async function poison(canary: Canary): Promise<void> {
  for (const name of [...startFiles, ...moreFiles, '.ssh/rc'])
    await canary.file(name, `${canary.line(name.replaceAll('/', '_'))}\n`);
}

describe.each(['forced', 'login-shell'] as const)(
  'startup files in the home do not run on the host, %s: ',
  (mode) => {
    let host: SshHost;
    let canary: Canary;
    beforeAll(async () => {
      host = await SshHost.start({ mode, sshd: 'PermitUserRC no', profiles: { base } });
      canary = await Canary.of(host, 'ada');
      await poison(canary);
    });
    afterAll(() => host.stop());

    // bash reads ~/.bashrc before any forced command if sshd starts it, which the linter reports.
    const open = mode === 'forced' ? ['.bashrc'] : [];

    it('a command', async () => {
      expect((await host.ssh('ada', ['hostname'])).stdout.toString()).toBe('login1\n');
      expect(await canary.heard()).toEqual(open);
    });

    it('an interactive login', async () => {
      const { stdout } = await host.ssh('ada', ['-tt'], { input: 'echo "in$((1+1))side"\nexit\n' });
      expect(stdout.toString()).toContain('in2side');
      expect(await canary.heard()).toEqual(open);
    });

    it('no command and no terminal', async () => {
      await host.ssh('ada', ['-T'], { input: 'exit\n' });
      expect(await canary.heard()).toEqual(open);
    });

    it('sftp', async () => {
      await sftp(host, 'pwd\n');
      expect(await canary.heard()).toEqual(open);
    });

    it("a command= of the user's own key", async () => {
      const { stdout } = await run('ssh-keygen', ['-y', '-f', host.key('bob')]);
      const key = stdout.toString().trim();
      await canary.file('.ssh/authorized_keys', `command="${canary.line('key')}" ${key}\n`, 0o600);
      const options = [
        ...host.clientOptions('bob'),
        '-p',
        String(host.port),
        'ada@127.0.0.1',
        'true',
      ];
      const { exitCode } = await run('ssh', options);
      // With ForceCommand in sshd_config that is used; otherwise the key's command runs inside.
      expect(exitCode).toBe(mode === 'forced' ? 0 : 1);
      expect(await canary.heard()).toEqual(open);
    });

    it('absolute paths are those inside', async () => {
      const mine = join(host.directory, 'mine');
      await writeFile(mine, 'x');
      const { stdout, stderr } = await sftp(
        host,
        `put ${mine} /tmp/berth-landed\nls -l /tmp/berth-landed\n`,
      );
      expect(stdout.toString(), stderr).toMatch(/^-rw.* \/tmp\/berth-landed$/m);
      const scp = ['-P', String(host.port), ...host.clientOptions('ada')];
      for (const protocol of ['-O', '-s']) {
        const to = `ada@127.0.0.1:/tmp/berth-copied${protocol}`;
        const { exitCode, stderr: said } = await run('scp', [...scp, protocol, mine, to]);
        expect({ exitCode, said }).toEqual({ exitCode: 0, said: '' });
      }
      const { stdout: inside } = await host.ssh('ada', ['ls /tmp']);
      expect(inside.toString()).toBe('berth-copied-O\nberth-copied-s\nberth-landed\n');
      for (const name of ['berth-landed', 'berth-copied-O', 'berth-copied-s'])
        await expect(access(join('/tmp', name))).rejects.toThrow('ENOENT');
      const secret = await sftp(host, 'get /etc/ssh/sshd_config /dev/null\n');
      expect(secret.stderr).toContain('not found');
    });
  },
);

/** The shell in passwd runs ~/.ssh/rc: inside, not on the host. */
describe('the login shell with PermitUserRC yes', () => {
  it('runs ~/.ssh/rc inside', async () => {
    const host = await SshHost.start({ mode: 'login-shell', profiles: { base } });
    try {
      const canary = await Canary.of(host, 'ada');
      await canary.file('.ssh/rc', `${canary.line('rc')}; touch ~/rc-was-here\n`);
      const { stdout, stderr } = await host.ssh('ada', ['ls rc-was-here']);
      expect(stdout.toString(), stderr).toBe('rc-was-here\n');
      expect(await canary.heard()).toEqual([]);
    } finally {
      await host.stop();
    }
  });
});

/** Both in one sshd_config, as in etc/sshd/login-shell.conf. */
describe('the login shell as forced command', () => {
  it("runs the client's command, and takes no options from it", async () => {
    const host = await SshHost.start({
      mode: 'login-shell',
      users: { ada: [] },
      profiles: { base },
    });
    const { stdout: shell } = await host.asRoot(['sh', '-c', 'getent passwd ada | cut -d: -f7']);
    await host.stop();
    const login = shell.toString().trim();
    const both = await SshHost.start({
      ...{ mode: 'login-shell', users: { ada: [] }, profiles: { base } },
      sshd: `ForceCommand ${login}`,
    });
    try {
      const { stdout, stderr } = await both.ssh('ada', ['echo "$0"; exit 3']);
      expect(stdout.toString() + stderr).toBe('/bin/bash\n');
      const options = await both.ssh('ada', [`${login} --config /tmp/evil.yml`]);
      expect(options.stderr).toContain('No such file or directory');
      expect(options.exitCode).toBe(127);
      expect((await both.ssh('ada', ['-T'], { input: 'hostname' })).stdout.toString()).toBe(
        'login1\n',
      );
    } finally {
      await both.stop();
    }
  });
});

function sftp(host: SshHost, batch: string) {
  const options = ['-q', '-b', '-', '-P', String(host.port), ...host.clientOptions('ada')];
  return run('sftp', [...options, 'ada@127.0.0.1'], { input: batch });
}
