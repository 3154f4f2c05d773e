import { freezeScript } from '../../../freeze-script.ts';
import { sourceText } from '../../../source-text.ts';
import { procScript } from './proc-script.ts';

/** The script's $0, by which it recognizes other runs of itself: their mark is `sweepMark`. */
const sweepName = 'berth-sweep';

/**
 * The argv of a shell (`leftovers.sh`) that lists a pod's processes and signals them, as it is told on standard
 * input. Kubernetes ends no process when an exec's client disconnects, and no process of the login node can see
 * into a pod. The image needs /bin/sh and tr, which comes in the same package as the pod's own `sleep`.
 *
 * Other containers of the pod, which a site may inject, are left alone: a session's processes stay in the cgroup
 * of this container.
 *
 * The script first prints its PID. It answers each line with lines, the last of which is a dot:
 * - `table`: a row of `podProcesses` for each process of this container
 * - `look`: the PID that was assigned last, then PID and start of each process, twice, then the last PID again.
 *   Twice, because fork(2) takes a PID before the child is visible.
 * - `kill -SIGNAL PID…`
 * - `hold PID…`: stops these processes, and answers when they have stopped
 * - `freeze`, then `thaw` (all) or `thawed` (the caller has continued each): see `freezeScript`
 */
export function leftoversArgv(): string[] {
  const script = procScript + freezeScript + sourceText('./leftovers.sh', import.meta.url);
  return ['/bin/sh', '-c', script, sweepName];
}
