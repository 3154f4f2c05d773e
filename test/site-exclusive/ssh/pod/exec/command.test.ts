import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { preambleLines } from '../../../../../src/sessions/exec/protocol/command-preamble.ts';
import { withExitMarker } from '../../../../../src/sessions/exec/protocol/exit-marker.ts';
import { CertificateAuthority } from '../../../../rig/site/certificates.ts';
import { run } from '../../../../../src/companions/verify/run-client.ts';
import type { RelayPod } from '../../../../rig/pod-exec/relay-pod.ts';
import { withRelayPod } from '../../../../rig/pod-exec/with-relay-pod.ts';

let box: RelayPod;

withRelayPod((made) => {
  box = made;
});

const sh = (script: string): string[] => ['sh', '-c', script];

describe('a command in a pod', () => {
  it.each([0, 1, 42, 126, 127, 137, 255])('ends with its own exit code %i', async (code) => {
    expect((await box.run(sh(`exit ${code}`))).exitCode).toBe(code);
  });

  it('has a separate standard error, and its arguments', async () => {
    const words = ['a b', '', '*', '"', 'é\n', '&x=%41+'];
    const { exitCode, stdout, stderr } = await box.run([
      ...sh('printf "<%s>" "$@"; echo wrong >&2'),
      'sh',
      ...words,
    ]);
    expect(stdout.toString()).toBe(words.map((word) => `<${word}>`).join(''));
    expect([exitCode, stderr]).toEqual([0, 'wrong\n']);
  });

  it('receives the end of standard input, and returns every byte', async () => {
    const input = Buffer.concat([Buffer.from([0, 255, 3, 10, 13]), randomBytes(3_000_000)]);
    const { exitCode, stdout } = await box.run(['cat'], { input });
    expect(exitCode).toBe(0);
    expect(stdout.equals(input)).toBe(true);
  });

  it('works with two gigabytes of address space, as some login nodes allow', async () => {
    const input = randomBytes(1_000_000);
    const words = ['-c', 'ulimit -v 2000000; exec "$@"', 'limited', ...box.relayArgv(['cat'])];
    const { exitCode, stdout, stderr } = await run('/bin/bash', words, { input });
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout.equals(input)).toBe(true);
  });

  it('says much on both at once, and nothing of it is lost', async () => {
    const { exitCode, stdout, stderr } = await box.run(
      sh('head -c 2000000 /dev/zero >&2 & head -c 5000000 /dev/zero; wait; exit 3'),
    );
    expect([exitCode, stdout.length, stderr.length]).toEqual([3, 5_000_000, 2_000_000]);
  });

  it('that is not in the image is 255 and says so', async () => {
    const { exitCode, stderr } = await box.run(['/no/such/program']);
    expect(exitCode).toBe(255);
    expect(stderr).toMatch(/^relay: exec-failed-in-pod: .*\/no\/such\/program/);
  });

  it('ends while its standard input is still open', async () => {
    const relay = box.spawn(sh('echo done; exit 7')).collectOutput();
    expect(await relay.ended).toBe(7);
    expect(relay.stdout).toBe('done\n');
  });

  it('does not end before its input, if a session runs it', async () => {
    const relay = box.spawn(withExitMarker('f00d', { tty: false }));
    const opening = preambleLines({ words: ['true'], env: {} });
    relay.child.stdin.write(opening.map((line) => `${line}\n`).join(''));
    await relay.waitForOutput('berth f00d 000');
    expect(await Promise.race([relay.ended, sleep(1000, 'reads')])).toBe('reads');
    relay.child.stdin.end();
    expect(await relay.ended).toBe(0);
  });

  it('ends although input is still being written', async () => {
    // More than some 200 KB that nobody reads is Kubernetes' own: kubectl exec hangs with it as well.
    for (let turn = 0; turn < 5; turn += 1) {
      const { exitCode, stdout, stderr } = await box.run(['head', '-n', '1'], {
        input: Buffer.from('yes\n'.repeat(20_000)),
      });
      expect([exitCode, stdout.toString(), stderr]).toEqual([0, 'yes\n', '']);
    }
  });

  it('runs thirty times at once, each with its own', async () => {
    const results = await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        const { exitCode, stdout, stderr } = await box.run(sh(`cat; exit ${index}`), {
          input: `mine is ${index}`,
          timeout: 90_000,
        });
        return [exitCode, stdout.toString(), stderr];
      }),
    );
    expect(results).toEqual(results.map((_, index) => [index, `mine is ${index}`, '']));
  });
});

describe('who may not', () => {
  const refused = async (options: Parameters<RelayPod['run']>[1]) => {
    const { exitCode, stdout, stderr } = await box.run(['true'], options);
    expect([exitCode, stdout.length]).toEqual([255, 0]);
    return stderr;
  };

  it('has a token that is none', async () => {
    expect(await refused({ server: { token: 'none' } })).toMatch(
      /^relay: exec-unauthorized: .* 401/,
    );
  });

  it('for a pod or container that does not exist', async () => {
    expect(await refused({ pod: 'gone' })).toMatch(/^relay: exec-no-pod: .*"gone" not found/);
    expect(await refused({ container: 'other' })).toMatch(
      /^relay: exec-refused: .*container other is not valid/,
    );
  });

  it('has no right to that namespace', async () => {
    expect(await refused({ namespace: 'kube-system' })).toMatch(/^relay: exec-forbidden: .* 403/);
  });

  it('meets a server that is not the one', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'berth-relay-ca-'));
    try {
      const { cert } = await CertificateAuthority.create(directory);
      const ca = await readFile(cert, 'utf8');
      expect(await refused({ server: { ca } })).toMatch(/^relay: exec-certificate: /);
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('finds nobody there', async () => {
    expect(await refused({ server: { url: 'https://127.0.0.1:9' } })).toMatch(
      /^relay: exec-unreachable: .*ECONNREFUSED/,
    );
  });
});
