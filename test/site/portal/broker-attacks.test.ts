import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { brokerSocket } from '../../../src/credentials/broker-protocol.ts';
import { storedCredentialPath } from '../../../src/credentials/root-credential-store.ts';
import { BrokerHost } from '../../rig/broker/broker-host.ts';
import { compileEntryPoint } from '../../rig/compile-entry-point.ts';

const [victim, attacker] = [61_011, 61_012];
const users = { [victim]: 'ann', [attacker]: 'bob' };
const request = '{"cluster":"test"}\n';

let directory: string;
let stateDir: string;
let host: BrokerHost;

beforeAll(async () => {
  if (!BrokerHost.isSupported) return;
  directory = await mkdtemp(join(tmpdir(), 'berth-broker-'));
  await chmod(directory, 0o755);
  stateDir = join(directory, 'state');
  const config = join(directory, 'berth.yml');
  await mkdir(join(directory, 'clusters.d'));
  await writeFile(
    config,
    `state_dir: ${stateDir}\nhook_env: null\nclusters_dir: ${join(directory, 'clusters.d')}\n`,
  );
  for (const [uid, username] of [
    [victim, 'ann'],
    [attacker, 'bob'],
  ] as const) {
    const path = storedCredentialPath(stateDir, uid, 'test');
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const expiry = Date.now() / 1000 + 3_600;
    const credential = { version: 1, username, token: `token-of-${uid}`, expiry };
    await writeFile(path, JSON.stringify(credential), { mode: 0o600 });
  }
  const broker = await compileEntryPoint('hooks/credential-broker.ts', directory);
  host = await BrokerHost.boot({ command: [broker], config, stateDir, users });
  for (const uid of [victim, attacker]) await host.startSocket(uid);
});

afterAll(async () => {
  if (!BrokerHost.isSupported) return;
  await host.stop();
  await rm(directory, { recursive: true });
});

const ask = `const connection = require('node:net').connect(process.argv[1]);
  connection.on('error', ({ code }) => console.log(code)).pipe(process.stdout);
  connection.write(process.argv[2]);`;

/** The answer to a request through a user's socket. */
async function answer(uid: number, wrap: (argv: string[]) => string[]): Promise<unknown> {
  const [file = '', ...words] = wrap([process.execPath, '-e', ask, brokerSocket(uid), request]);
  const { stdout } = await promisify(execFile)(file, words);
  // After the answer the connection may be reset, because the request was not read.
  const [line = ''] = stdout.split('\n');
  return line.startsWith('{') ? JSON.parse(line) : line;
}

describe.skipIf(!BrokerHost.isSupported)('a user’s token', () => {
  it('is given to its user', async () => {
    expect(await answer(victim, (argv) => host.enterAs(victim, argv))).toMatchObject({
      token: `token-of-${victim}`,
    });
  });

  it('is not given to another user, whatever names that user gives to sockets', async () => {
    // In a tmpfs, as a user's /run/user and /dev/shm are: inodes are counted up, see the program.
    const own = '/run/attacker';
    await run(host.enter(['install', '-d', '-o', String(attacker), own]));
    const program = await compileEntryPoint('test/rig/broker/proc-net-unix-spoof.ts', directory);
    const sockets = [brokerSocket(attacker), brokerSocket(victim)];
    const argv = ['env', '-C', own, program, ...sockets, request];
    const [file = '', ...words] = host.enterAs(attacker, argv);

    const { stdout } = await promisify(execFile)(file, words);

    const said = JSON.parse(stdout) as { trap: string; answer: string };
    expect(said.trap, 'the line stood before the true one').toBe(brokerSocket(victim));
    expect(JSON.parse(said.answer)).toMatchObject({ token: `token-of-${attacker}` });
  });

  it('is not given to another user who connects to the socket', async () => {
    const foreign = () => answer(victim, (argv) => host.enterAs(attacker, argv));
    expect(await foreign()).toBe('EACCES');

    // If the file's mode does not prevent it, the socket unit's name does.
    await run(host.enter(['chmod', '0666', brokerSocket(victim)]));
    try {
      expect(await foreign()).toMatchObject({
        error: {
          code: 'broker-socket-mismatch',
          message: `no credential for UID ${attacker}: it did not connect through its own socket but through 'berth-broker@${victim}.socket'`,
        },
      });
    } finally {
      await run(host.enter(['chmod', '0600', brokerSocket(victim)]));
    }
  });

  it('is not given to root, nor to a client whose UID the kernel does not give', async () => {
    expect(await answer(victim, (argv) => host.enter(argv))).toMatchObject({
      error: { code: 'broker-socket-mismatch' },
    });
    // For a process outside of its PID namespace systemd writes `NUMBER-unknown`.
    const outside = (argv: string[]) =>
      host.enterAs(victim, argv).filter((word) => word !== '--pid');
    expect(await answer(victim, outside)).toMatchObject({
      error: { code: 'broker-caller-unknown' },
    });
  });
});

describe.skipIf(!BrokerHost.isSupported)('one user with a hundred connections', () => {
  const counted = (property: string): Promise<string> =>
    host.systemctl('show', `--property=${property}`, `berth-broker@${attacker}.socket`);

  it('starts at most eight brokers, and others are served', async () => {
    const flood = `for (let number = 0; number < 100; number += 1)
      require('node:net').connect(process.argv[1]).on('error', () => {});`;
    const argv = [process.execPath, '-e', flood, brokerSocket(attacker)];
    const [file = '', ...words] = host.enterAs(attacker, argv);
    const flooding = once(spawn(file, words, { stdio: 'inherit' }), 'close');

    // systemd counts each connection; the accepted ones time out after some seconds.
    await vi.waitFor(async () => expect(await counted('NRefused')).toBe('NRefused=92'), {
      timeout: 20_000,
    });
    expect(await answer(victim, (argv) => host.enterAs(victim, argv))).toMatchObject({
      token: `token-of-${victim}`,
    });

    // Not longer than the broker waits for a request.
    await flooding;
    await vi.waitFor(async () => expect(await counted('NConnections')).toBe('NConnections=0'), {
      timeout: 20_000,
    });
    expect(await answer(attacker, (argv) => host.enterAs(attacker, argv))).toMatchObject({
      token: `token-of-${attacker}`,
    });
  });

  it('logs the refusal of a client that does not wait for the answer', async () => {
    const program = `const connection = require('node:net').connect(${JSON.stringify(brokerSocket(attacker))});
      connection.write('{"cluster":"nowhere"}\\n', () => connection.destroy());`;
    const [file = '', ...words] = host.enterAs(attacker, [process.execPath, '-e', program]);
    const before = host.log.length;
    await promisify(execFile)(file, words);
    await vi.waitFor(() => expect(host.log.slice(before)).toContain('code=credential-missing'), {
      timeout: 20_000,
    });
    await vi.waitFor(
      async () => {
        const running = await host.systemctl('list-units', '--no-legend', 'berth-broker@*.service');
        expect(running).toBe('');
      },
      { timeout: 20_000 },
    );
    expect(host.log.slice(before).trim().split('\n')).toHaveLength(1);
  });

  it('all users together use no more memory, tasks and CPU than the slice allows', async () => {
    const limits = ['MemoryMax', 'TasksMax', 'CPUQuotaPerSecUSec', 'CPUWeight'];
    const asked = limits.map((name) => `--property=${name}`);
    const shown = await host.systemctl('show', ...asked, 'berth-broker.slice');
    expect(shown.split('\n').sort()).toEqual([
      ...['CPUQuotaPerSecUSec=1s', 'CPUWeight=50', `MemoryMax=${2 ** 30}`, 'TasksMax=1024'],
    ]);
  });
});

describe.skipIf(!BrokerHost.isSupported)('a UID that was given to another person', () => {
  const ask = () => answer(victim, (argv) => host.enterAs(victim, argv));
  const kept = () => existsSync(storedCredentialPath(stateDir, victim, 'test'));

  it('has no account in between, as if the directory service were down', async () => {
    await host.setUserNames({ [attacker]: 'bob' });
    expect(await ask()).toMatchObject({ error: { code: 'user-unknown', exit: 'temporary' } });
    expect(kept()).toBe(true);
    await host.setUserNames(users);
    expect(await ask()).toMatchObject({ token: `token-of-${victim}` });
  });

  it('gets no credential of the former user, and the stored ones are removed', async () => {
    await host.setUserNames({ ...users, [victim]: 'carl' });
    expect(await ask()).toMatchObject({ error: { code: 'credential-missing' } });
    expect(kept()).toBe(false);
    expect(existsSync(storedCredentialPath(stateDir, attacker, 'test'))).toBe(true);
  });
});

async function run([file = '', ...words]: readonly string[]): Promise<void> {
  await promisify(execFile)(file, words);
}
