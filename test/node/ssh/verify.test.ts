import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../../src/companions/verify/run-client.ts';
import { berthDocument } from '../../rig/berth-document.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { berth } from '../sessions/berth-on.ts';

interface Verification {
  readonly ok: boolean;
  readonly summary: object;
  readonly cases: readonly {
    readonly name: string;
    readonly result: string;
    readonly detail: string;
  }[];
}

const clients = [
  ...['ssh', 'scp', 'sftp', 'ssh-keygen', 'ssh-keyscan', 'ssh-agent', 'ssh-add', 'ssh-copy-id'],
  ...['script', 'sh', 'bash', 'tar', 'gzip', 'mkdir'],
];

/** The files of the user's home, and those in the temporary directory of the machine with the clients. */
async function present(host: SshHost, user: string, temporary: string): Promise<readonly string[]> {
  const { home } = host.account(user);
  const { stdout } = await host.asRoot(['find', home, '!', '-path', '*/.local/share/containers*']);
  return [...stdout.toString().split('\n').sort(), ...(await readdir(temporary))];
}

/** A mistake in sshd's configuration: the subsystem is a program that ends at once. */
async function breakSftp(host: SshHost): Promise<void> {
  await host.stopListening();
  const edit = ['sed', '-i', 's#^Subsystem sftp .*#Subsystem sftp /bin/false#'];
  await host.asRoot([...edit, '/etc/ssh/sshd_config']);
  await host.listen();
}

describe('berth verify', () => {
  let host: SshHost;
  /** A directory with the clients of a machine without PuTTY's, and that of its temporary files. */
  let withoutPutty: string;
  let temporary: string;
  beforeAll(async () => {
    withoutPutty = await mkdtemp(join(tmpdir(), 'without-putty-'));
    temporary = await mkdtemp(join(tmpdir(), 'temporary-'));
    for (const name of clients) await symlink(`/usr/bin/${name}`, join(withoutPutty, name));
    host = await SshHost.start({ mode: 'forced' });
  });
  afterAll(async () => {
    await rm(withoutPutty, { recursive: true });
    await rm(temporary, { recursive: true });
    await host.stop();
  });

  const verify = (
    user: string,
    args: readonly string[],
    { path = process.env.PATH ?? '', key = user } = {},
  ) => {
    const usual = { '--port': String(host.port), '--identity': host.key(key) };
    const options = Object.entries(usual).filter(([name]) => !args.includes(name));
    const server = [host.address, '--user', user, ...options.flat()];
    return run(berth, ['verify', ...server, ...args], {
      env: { PATH: path, TMPDIR: temporary },
    });
  };

  it('tries cases with the clients of this machine, tells known failures, and leaves nothing', async () => {
    await host.ssh('ada', ['true']);
    const before = await present(host, 'ada', temporary);
    const texts = ['exit codes and signals', 'non-login shell', 'ssh-copy-id', 'is shown once'];
    const subjects = texts.flatMap((text) => ['--only', text]);
    const server = ['--backend', 'podman', '--forced'];
    const { exitCode, stdout, stderr } = await verify('ada', [...subjects, ...server]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const text = stdout.toString();
    expect(text).toMatch(/^RESULT {2}SECONDS {2}CASE\npass +\d+\.\d {2}exit codes and signals: /);
    expect(text).toMatch(
      /^known +0\.0 {2}exit codes and signals: signals sent by the client .*\n {8}sshd does not deliver/m,
    );
    expect(text).toMatch(/^pass .* programs that run over ssh: ssh-copy-id/m);
    expect(text).toMatch(/^skip .* the message of the day is shown once\n {8}.*--motd TEXT$/m);
    expect(text).toMatch(/\n\n5 passed, 0 failed, 3 known to fail, 1 skipped\n$/);
    expect(await present(host, 'ada', temporary)).toEqual(before);
  });

  it('ends with 1 if a case fails, with the reason, and skips what this machine lacks', async () => {
    await breakSftp(host);
    await host.ssh('bob', ['true']);
    const before = await present(host, 'bob', temporary);
    const only = ['--only', 'sftp: put', '--only', 'tar through', '--only', 'plink runs'];
    const { exitCode, stdout, stderr } = await verify('bob', [...only, '-o', 'json'], {
      path: withoutPutty,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' });
    const { ok, summary, cases } = berthDocument(stdout.toString()) as Verification;
    expect({ ok, summary }).toEqual({
      ...{ ok: false, summary: { pass: 1, fail: 1, known: 0, skip: 1 } },
    });
    expect(cases.map(({ name, result, detail }) => [result, name, detail])).toEqual([
      ['fail', expect.stringMatching(/^sftp: put/), expect.stringMatching(/^sftp exited with/)],
      ['pass', 'tar through a pipe: upload and download', ''],
      [
        'skip',
        expect.stringContaining('plink'),
        expect.stringMatching(/^this machine lacks plink .*apt install putty-tools/),
      ],
    ]);
    expect(await present(host, 'bob', temporary)).toEqual(before);
  });

  it('says why it cannot log in, and which subjects there are', async () => {
    const refused = await verify('ada', [], { key: 'bob' });
    expect(refused).toMatchObject({ exitCode: 69 });
    expect(refused.stderr).toMatch(
      /^berth: ada cannot log in to .*\[verify-login-failed\]\nnext: /,
    );
    const keyless = await verify('ada', ['--identity', '/no/such/key']);
    expect(keyless).toMatchObject({ exitCode: 64 });
    expect(keyless.stderr).toContain('berth: cannot read the key /no/such/key [usage]');
    const serverless = await verify('ada', ['--port', '1']);
    expect(serverless.stderr).toMatch(/, port 1: there is no SSH server \[verify-login-failed\]/);
    const unknown = await verify('ada', ['--only', 'telnet']);
    expect(unknown).toMatchObject({ exitCode: 64 });
    expect(unknown.stderr).toContain('next: Subjects: single commands; exit codes and signals;');
  });
});
