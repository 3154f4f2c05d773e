import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { assertEqual } from '../../../../src/companions/verify/expect.ts';
import type { Client } from '../../../../src/companions/verify/client.ts';
import {
  conformanceCases,
  knownFailures,
  runCase,
} from '../../../../src/companions/verify/suite.ts';

/** Stands for a client machine; no case here starts a program on it. */
const client = (): Client => ({ lastResult: undefined }) as unknown as Client;

describe('a case that fails', () => {
  it('shows both values', () => {
    expect(() => assertEqual('text', undefined, 'a "b"')).toThrow(
      'text: expected "a \\"b\\"", got undefined',
    );
    expect(() => assertEqual('codes', [1, 'x'], [])).toThrow('codes: expected [], got [1,"x"]');
    expect(() => assertEqual('length', 'a'.repeat(1000), '')).toThrow(/a{200} … a{200}/);
  });

  it('does not blame a program of an earlier case', async () => {
    const used = client();
    used.lastResult = { exitCode: 1, stdout: Buffer.alloc(0), stderr: 'of an earlier case' };
    const run = () => Promise.reject(new Error('wrong'));
    expect(await runCase(used, { name: 'fails', run })).toMatchObject({
      ...{ result: 'fail', detail: 'wrong' },
    });
  });

  it('has ended before the next one runs, also if it was late', async () => {
    let hasEnded = false;
    const run = async () => {
      await sleep(300);
      hasEnded = true;
    };
    const outcome = await runCase(client(), { name: 'late', run, timeoutMs: 200 });
    expect(outcome).toMatchObject({
      result: 'fail',
      detail: expect.stringMatching(/within 0.2 s/) as string,
    });
    expect(hasEnded).toBe(true);
  });
});

it('docs/verify.md has how many cases pass, by backend', () => {
  const backends = (['podman', 'pod', 'slurm'] as const).map((one) =>
    knownFailures([one, 'forced']),
  );
  const rows = Object.entries(conformanceCases).map(([subject, cases]) => [
    ...[subject, cases.length],
    ...backends.map((known) => cases.filter(({ name }) => !(name in known)).length),
  ]);
  const page = readFileSync('docs/verify.md', 'utf8').replaceAll(/ +/g, ' ');
  for (const row of rows) expect(page).toContain(`| ${row.join(' | ')} |\n`);
});
