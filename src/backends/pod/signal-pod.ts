import { BerthError } from '../../errors/berth-error.ts';
import { signalArgv } from './objects/signal-script.ts';
import type { PodTarget } from '../../kube-exec/open-exec.ts';
import { runPodCommand } from '../../kube-exec/pod-command.ts';

export interface SignalPod extends PodTarget {
  /** The nonce of the command. */
  readonly nonce: string;
  readonly signal: NodeJS.Signals;
}

/** Time limit. Milliseconds. */
const patience = 5_000;

/**
 * Sends a signal to a command that runs in a pod.
 *
 * @throws {BerthError} `signal-not-delivered`, the errors of `openExec`
 */
export async function signalPod({ server, pod, nonce, signal }: SignalPod): Promise<void> {
  const { exitCode, stderr, reason } = await runPodCommand({
    ...{ server, pod, argv: signalArgv(nonce, signal) },
    signal: AbortSignal.timeout(patience),
  });
  if (exitCode === 0) return;
  throw new BerthError(
    `sending ${signal} to the command failed with exit code ${exitCode}: ${stderr}`,
    { code: 'signal-not-delivered', cause: reason },
  );
}
