import { expect, it } from 'vitest';
import { runBounded } from '../../../src/system/run-bounded.ts';

/** Traces its parent (PTRACE_SEIZE), and never waits for it: then its end is not reported to anybody else. */
const tracer = `
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.ptrace.argtypes = [ctypes.c_long] * 4
assert libc.ptrace(0x4206, int(sys.argv[1]), 0, 0) == 0
print(os.getpid(), flush=True)
time.sleep(60)
`;

it('a process that its user traces keeps nobody waiting', async () => {
  const script = 'setsid python3 -c "$TRACER" $$ & while :; do sleep 0.1; done';
  const env = { PATH: '/usr/bin:/bin', TRACER: tracer };
  const started = performance.now();
  const { ended, stdout } = await runBounded('/bin/sh', ['-c', script], { env, timeoutMs: 2_000 });
  try {
    expect(ended).toBe('late');
    expect(performance.now() - started).toBeLessThan(10_000);
  } finally {
    process.kill(Number(stdout), 'SIGKILL');
  }
});
