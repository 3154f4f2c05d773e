import type { ExecOutcome } from './protocol/exec-status.ts';
import type { StdoutSink } from './stdout-sink.ts';
import type { PodTarget } from './open-exec.ts';
import { MemoryStdin } from './memory-stdin.ts';
import { relayCommand } from './relay-command.ts';

export interface PodCommandInput extends PodTarget {
  readonly argv: readonly string[];
  readonly input?: readonly Buffer[];
  readonly signal?: AbortSignal;
}

/** How much of the output is kept. Bytes. */
const longestAnswer = 4096;

/**
 * Runs a short command in a pod.
 *
 * @returns the outcome, and the beginning of both outputs
 * @throws {BerthError} the errors of `openExec`: then nothing ran
 */
export async function runPodCommand({
  server,
  pod,
  argv,
  input = [],
  signal,
}: PodCommandInput): Promise<ExecOutcome & { readonly stdout: string; readonly stderr: string }> {
  const stdin = new MemoryStdin(...input);
  stdin.end();
  const stdout = collected();
  const stderr = collected();
  const outcome = await relayCommand({
    ...{ server, stdin, stdout, stderr, target: { ...pod, argv, tty: false } },
    signal,
  });
  return { ...outcome, stdout: stdout.text(), stderr: stderr.text() };
}

function collected(): StdoutSink & { readonly text: () => string } {
  let bytes = Buffer.alloc(0);
  return {
    write: (more) => {
      bytes = Buffer.concat([bytes, more.subarray(0, longestAnswer - bytes.length)]);
      return true;
    },
    onDrained: () => undefined,
    onBroken: () => undefined,
    flushed: () => Promise.resolve(),
    text: () => bytes.toString('utf8').trim(),
  };
}
