import { runBounded } from './run-bounded.ts';

/** How long a look at all processes of a user may take; at one it is less than a millisecond. Milliseconds. */
const timeoutMs = 3_000;

/** Whether all of these processes can be looked at (`pidsByUid`). Another program looks, which can be killed, also while it waits. */
export async function answerLooks(pids: readonly number[]): Promise<boolean> {
  const files = pids.flatMap((pid) => [`/proc/${pid}/stat`, `/proc/${pid}/environ`]);
  const { ended } = await runBounded('/usr/bin/xargs', ['/bin/cat'], {
    env: {},
    input: files.join('\n'),
    timeoutMs,
    graceMs: 0,
    keptLength: 0,
  });
  return ended !== 'late';
}
