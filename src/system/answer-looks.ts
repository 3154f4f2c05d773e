import { runProgram } from './run-program.ts';

/** How long a look at all processes of a user may take; at one it is less than a millisecond. Seconds. */
const longest = 3;

/** The status of timeout(1) after SIGKILL, which it may get itself. */
const killed = 128 + 9;

/** Whether all of these processes can be looked at (`pidsByUid`). Another program looks, which can be killed, also while it waits. */
export async function answerLooks(pids: readonly number[]): Promise<boolean> {
  const files = pids.flatMap((pid) => [`/proc/${pid}/stat`, `/proc/${pid}/environ`]);
  const look = ['sh', '-c', 'exec xargs cat >/dev/null 2>&1'];
  const { error } = await runProgram('timeout', ['-s', 'KILL', `${longest}`, ...look], {
    input: files.join('\n'),
  });
  return error?.signal !== 'SIGKILL' && error?.code !== killed;
}
