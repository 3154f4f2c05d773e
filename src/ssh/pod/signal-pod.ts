import { BerthError } from '../../errors.ts';
import { signalWords } from './objects/signal-script.ts';
import type { PodPlace } from './exec/open-exec.ts';
import { podCommand } from './exec/pod-command.ts';

export interface SignalPod extends PodPlace {
  /** Of the command. */
  readonly nonce: string;
  readonly signal: NodeJS.Signals;
}

/** A pod that does not answer keeps nobody waiting. Milliseconds. */
const patience = 5_000;

/**
 * Hands a signal to a command that runs in a pod.
 *
 * @throws {BerthError} `signal-not-delivered`; what `openExec` throws
 */
export async function signalPod({ server, pod, nonce, signal }: SignalPod): Promise<void> {
  const { exitCode, stderr, reason } = await podCommand({
    ...{ server, pod, argv: signalWords(nonce, signal) },
    signal: AbortSignal.timeout(patience),
  });
  if (exitCode === 0) return;
  throw new BerthError(`handing ${signal} to the command: exit code ${exitCode}: ${stderr}`, {
    code: 'signal-not-delivered',
    exit: 'temporary',
    hint: 'The session ends by it. The image needs /bin/sh and tr.',
    cause: reason,
  });
}
