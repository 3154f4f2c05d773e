import { describe, expect, it } from 'vitest';
import { processStartTime } from '../../../src/system/process-start.ts';
import { runBounded } from '../../../src/system/run-bounded.ts';

const env = { PATH: '/usr/bin:/bin' };
const run = (script: string, limitMs = 5_000) =>
  runBounded('/bin/sh', ['-c', script], { env, limitMs });

describe('a program that works on what a user can write', () => {
  it('gives its status and output', async () => {
    expect(await run('echo out; echo err >&2; exit 3')).toEqual({
      ...{ ended: 3, stdout: 'out\n', stderr: 'err\n' },
    });
    expect((await run('kill -HUP $$')).ended).toBe('SIGHUP');
  });

  it('is read to the end, however much it prints, and little of that is kept', async () => {
    const { ended, stdout } = await run('yes | head -c 5000000; exit 7');
    expect([ended, stdout.length]).toEqual([7, 16_384]);
  });

  it('is ended with its children, also if it ignores SIGTERM', async () => {
    const started = performance.now();
    const { ended, stdout } = await run("trap '' TERM; sleep 60 & echo $$ $!; wait; wait", 200);
    expect(ended).toBe('late');
    expect(performance.now() - started).toBeLessThan(8_000);
    expect(
      stdout
        .trim()
        .split(' ')
        .map((pid) => processStartTime(Number(pid))),
    ).toEqual([undefined, undefined]);
  });
});
