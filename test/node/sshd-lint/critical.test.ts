import { spawn } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { SshdFindingCode } from '../../../src/setup/sshd-lint/rules/sshd-finding.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { LintHost } from './lint-host.ts';
import { greeting, type LintSshd, serve, stopServing } from './lint-sshd.ts';

/*
 * Each critical finding is tried with a real sshd: it is open with the mistake, and closed with the example.
 * The login program is a stand-in that starts nothing, so everything else that is seen ran on the host.
 */
let forced: LintHost;
let shell: LintHost;

beforeAll(async () => {
  forced = await LintHost.make([
    { name: 'ann', shell: '/bin/sh', groups: ['berth'] },
    { name: 'basil', shell: '/bin/bash', groups: ['berth'] },
  ]);
  shell = await LintHost.make([{ name: 'ann', shell: 'LOGIN', groups: ['berth'] }]);
});
afterEach(async () => {
  await stopServing();
  for (const host of [forced, shell]) {
    await host.cleanHomes();
  }
});
afterAll(async () => {
  await forced.remove();
  await shell.remove();
});

/** Starts sshd with this configuration, after the linter has reported the code; undefined: nothing. */
async function serveLinted(
  host: LintHost,
  config: string,
  code: SshdFindingCode | undefined,
  user = 'ann',
): Promise<LintSshd> {
  const answer = await host.lint(config, '--user', user);
  if (code === undefined) expect(answer.codes).toEqual([]);
  else expect(answer.codes).toContain(code);
  return serve(host, config);
}

const example = () => forced.example('forced-command');
const shellExample = () => shell.example('login-shell');
const unforced = (text: string) => text.replace(/^ForceCommand .*$/m, '');

describe('a plain shell', () => {
  it('runs on the host without ForceCommand, and not with it', async () => {
    await forced.allowKey('ann');
    const open = await serveLinted(forced, unforced(await example()), 'no-forced-command');
    expect((await open.ssh('ann', ['echo HOST'])).stdout).toBe('HOST');
    const closed = await serveLinted(forced, await example(), undefined);
    expect(await closed.ssh('ann', ['echo HOST'])).toMatchObject({
      stdout: 'INSIDE args= original=echo HOST',
      exitCode: 3,
    });
  });

  it("bash reads the user's ~/.bashrc before the forced command; the login program as shell does not", async () => {
    const rc = 'echo ran > ~/proof\n';
    await forced.allowKey('basil');
    await forced.writeInHome('basil', '.bashrc', rc);
    const open = await serveLinted(forced, await example(), 'shell-reads-home', 'basil');
    expect((await open.ssh('basil', ['true'])).stdout).toContain('INSIDE');
    expect(await forced.proof('basil')).toBe('ran\n');

    await shell.allowKey('ann');
    await shell.writeInHome('ann', '.bashrc', rc);
    const closed = await serveLinted(shell, await shellExample(), undefined);
    expect((await closed.ssh('ann', ['true'])).stdout).toContain('INSIDE');
    expect(await shell.proof('ann')).toBeUndefined();
  });

  it("a relative forced command is the user's own program", async () => {
    await forced.allowKey('ann');
    await forced.writeInHome('ann', 'bin/login', '#!/bin/sh\necho HOST\n', 0o700);
    const config = `ForceCommand bin/login\n${await example()}`;
    const open = await serveLinted(forced, config, 'forced-command-relative');
    expect((await open.ssh('ann', ['true'])).stdout).toBe('HOST');
  });

  it('$SSH_ORIGINAL_COMMAND in ForceCommand lets users pass options to the login program', async () => {
    await forced.allowKey('ann');
    const config = `ForceCommand ${forced.path('login')} $SSH_ORIGINAL_COMMAND\n${await example()}`;
    const open = await serveLinted(forced, config, 'forced-command-user-text');
    expect((await open.ssh('ann', ['--config mine.yml'])).stdout).toContain(
      'args=--config mine.yml',
    );
  });

  it('a second command in ForceCommand runs on the host', async () => {
    await forced.allowKey('ann');
    const config = `ForceCommand ${forced.path('login')} || echo HOST\n${await example()}`;
    const open = await serveLinted(forced, config, 'forced-command-metacharacters');
    expect((await open.ssh('ann', ['true'])).stdout).toContain('\nHOST');
  });

  it('~/.ssh/rc runs on the host without ForceCommand, and inside with the login program as shell', async () => {
    const rc = 'echo ran > ~/proof\n';
    await forced.allowKey('ann');
    await forced.writeInHome('ann', '.ssh/rc', rc);
    const open = await serveLinted(
      forced,
      `PermitUserRC yes\n${unforced(await example())}`,
      'user-rc',
    );
    await open.ssh('ann', ['true']);
    expect(await forced.proof('ann')).toBe('ran\n');
    const closed = await serveLinted(forced, `PermitUserRC yes\n${await example()}`, undefined);
    await closed.ssh('ann', ['true']);
    expect(await forced.proof('ann')).toBeUndefined();

    await shell.allowKey('ann');
    await shell.writeInHome('ann', '.ssh/rc', rc);
    const twice = await serveLinted(
      shell,
      `PermitUserRC yes\n${unforced(await shellExample())}`,
      'user-rc',
    );
    const { stdout } = await twice.ssh('ann', ['true']);
    expect(stdout.match(/^INSIDE args=-c /gm)).toHaveLength(2);
    expect(await shell.proof('ann')).toBeUndefined();
  });
});

describe('sftp of sshd itself', () => {
  const listing = 'ls -1 /etc/passwd\n';

  it('serves files of the host without ForceCommand, even with the login program as shell', async () => {
    await shell.allowKey('ann');
    const internal = (text: string) =>
      text.replace(/^Subsystem .*$/m, 'Subsystem sftp internal-sftp');
    const open = await serveLinted(shell, internal(unforced(await shellExample())), 'sftp-on-host');
    expect(await open.sftp('ann', listing)).toMatchObject({ exitCode: 0 });
    const closed = await serveLinted(shell, internal(await shellExample()), undefined);
    expect((await closed.sftp('ann', listing)).exitCode).not.toBe(0);
  });

  it('serves files of the host for command="internal-sftp" in the user\'s own authorized_keys', async () => {
    await shell.allowKey('ann', 'command="internal-sftp"');
    const open = await serveLinted(shell, unforced(await shellExample()), 'sftp-by-key-option');
    const seen = await open.sftp('ann', listing);
    expect(seen).toMatchObject({ exitCode: 0 });
    expect(seen.stdout).toContain('/etc/passwd');
    const closed = await serveLinted(shell, await shellExample(), undefined);
    expect((await closed.sftp('ann', listing)).exitCode).not.toBe(0);
  });

  it('serves files of the host as forced command', async () => {
    await forced.allowKey('ann');
    const config = `ForceCommand internal-sftp\n${await example()}`;
    const open = await serveLinted(forced, config, 'forced-command-internal-sftp');
    expect(await open.sftp('ann', listing)).toMatchObject({ exitCode: 0 });
  });
});

describe('without any session', () => {
  let server: Server;

  afterEach(() => server.close());

  const listen = (place: { path: string } | { host: string; port: number }) =>
    new Promise<void>((resolve) => {
      server = createServer((socket) => socket.end('the host says hello'));
      server.listen(place, resolve);
    });

  it('-L to a Unix socket reaches the host with AllowStreamLocalForwarding', async () => {
    const path = forced.path('host.socket');
    await listen({ path });
    await chmod(path, 0o777);
    await forced.allowKey('ann');
    const seen = async (sshd: LintSshd) => {
      const { local } = await freePorts(['local']);
      const options = ['-p', `${sshd.port}`, '-i', forced.path('keys/ann'), '-F', 'none', '-N'];
      for (const one of [
        'StrictHostKeyChecking=no',
        'UserKnownHostsFile=/dev/null',
        'BatchMode=yes',
      ])
        options.push('-o', one);
      const client = spawn('ssh', [...options, '-L', `${local}:${path}`, 'ann@127.0.0.1'], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let said = '';
      client.stderr.on('data', (more: Buffer) => (said += more.toString()));
      const alive = (): Promise<void> =>
        client.exitCode === null
          ? Promise.resolve()
          : Promise.reject(new Error(`ssh ended with ${client.exitCode}: ${said}`));
      try {
        // sshd refuses a forward by closing it, so wait until the port is open.
        const ready = () =>
          execa('ss', ['-Hltn', `sport = :${local}`]).then(({ stdout }) => stdout || undefined);
        await waitFor({ what: 'the forward', timeoutMs: 60_000, everyMs: 20, alive }, ready);
        return await greeting(local);
      } finally {
        client.kill();
      }
    };
    const open = `AllowStreamLocalForwarding local\n${await example()}`;
    expect(await seen(await serveLinted(forced, open, 'stream-local-forwarding'))).toContain(
      'hello',
    );
    expect(await seen(await serveLinted(forced, await example(), undefined))).toBeUndefined();
  });

  it("-W reaches the host's loopback with AllowTcpForwarding, as sessions do", async () => {
    const { port } = await freePorts(['port']);
    await listen({ host: '127.0.0.1', port });
    await forced.allowKey('ann');
    const through = async (config: string) => {
      const sshd = await serveLinted(forced, config, undefined);
      return (await sshd.ssh('ann', ['-W', `127.0.0.1:${port}`, '--'])).stdout;
    };
    expect(await through(await example())).toContain('hello');
    expect(await through(`AllowTcpForwarding no\n${await example()}`)).toBe('');
  });
});

describe('who can log in', () => {
  it('without StrictModes, users who can write in a home can add a key', async () => {
    await forced.allowKey('ann');
    await chmod(forced.homeOf('ann'), 0o777);
    try {
      const open = await serveLinted(
        forced,
        `StrictModes no\n${await example()}`,
        'strict-modes-off',
      );
      expect((await open.ssh('ann', ['true'])).stdout).toContain('INSIDE');
      const closed = await serveLinted(forced, await example(), undefined);
      expect((await closed.ssh('ann', ['true'])).exitCode).toBe(255);
    } finally {
      await chmod(forced.homeOf('ann'), 0o700);
    }
  });
});
