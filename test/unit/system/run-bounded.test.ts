import { describe, expect, it } from 'vitest';
import { processStartTime } from '../../../src/system/process-start.ts';
import { runBounded } from '../../../src/system/run-bounded.ts';

const env = { PATH: '/usr/bin:/bin' };
const run = (script: string, timeoutMs = 5_000) =>
  runBounded('/bin/sh', ['-c', script], { env, timeoutMs });

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

  it('is ended with its children, also if it ignores SIGTERM', { timeout: 60_000 }, async () => {
    const { ended, stdout } = await run("trap '' TERM; sleep 600 & echo $$ $!; wait; wait", 2_000);
    expect(ended).toBe('late');
    const pids = stdout.trim().split(' ').map(Number);
    expect(pids).toHaveLength(2);
    // The kernel ends a killed process, and init takes note of it, when they get to it.
    await expect
      .poll(() => pids.map(processStartTime), { timeout: 30_000 })
      .toEqual([undefined, undefined]);
  });
});
