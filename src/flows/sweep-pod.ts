import { BerthError } from '../errors.ts';
import { podContainer } from '../session/pod-object.ts';
import { sweepWords, sweptBy, type PodSweep, type Swept } from '../session/pod-sweep.ts';
import type { PodAccess } from './pod-access.ts';
import { podCommand } from './pod-command.ts';

/**
 * Ends in a running pod what connections left there.
 *
 * @throws {BerthError} `pod-not-swept`; `exec-no-pod` and the others of `openExec`, where nothing ran
 */
export async function sweepPod(
  { server, namespace }: PodAccess,
  pod: string,
  sweep: PodSweep,
  signal: AbortSignal,
): Promise<Swept> {
  const { exitCode, reason, stdout, stderr } = await podCommand({
    pod: { namespace, pod, container: podContainer },
    ...{ server, argv: sweepWords(sweep), signal },
  });
  const swept = sweptBy(stdout);
  if (swept?.left === 0) return swept;
  const said = reason?.message ?? `exit code ${exitCode}: ${stderr}`;
  const what = swept === undefined ? said : `${swept.left} processes stay`;
  throw new BerthError(`ending what closed connections left in pod ${namespace}/${pod}: ${what}`, {
    code: 'pod-not-swept',
    exit: 'temporary',
    hint: '`berth reap` tries again. The image needs /bin/sh and tr.',
    cause: reason,
  });
}
