import type { ExecOutcome } from '../session/relay/exec-status.ts';
import type { OwnInput } from '../system/own-input.ts';
import type { OwnOutput } from '../system/own-output.ts';
import type { PodPlace } from './open-exec.ts';
import { relay } from './relay.ts';

export interface PodCommand extends PodPlace {
  readonly argv: readonly string[];
  readonly input?: readonly Buffer[];
  readonly signal?: AbortSignal;
}

/** What it says is a few lines. Bytes. */
const longestAnswer = 4096;

/**
 * Runs a small command of our own in a pod.
 *
 * @returns How it ended, and the beginning of what it said.
 * @throws {BerthError} what `openExec` throws: then nothing ran
 */
export async function podCommand({
  server,
  pod,
  argv,
  input = [],
  signal,
}: PodCommand): Promise<ExecOutcome & { readonly stdout: string; readonly stderr: string }> {
  const stdout = collected();
  const stderr = collected();
  const outcome = await relay({
    ...{ server, stdin: given(input), stdout, stderr, target: { ...pod, argv, tty: false } },
    ...(signal === undefined ? {} : { signal }),
  });
  return { ...outcome, stdout: stdout.text(), stderr: stderr.text() };
}

/** These bytes as standard input. */
function given(parts: readonly Buffer[]): OwnInput {
  let send: (() => void) | undefined;
  return {
    start(reader) {
      let part = 0;
      let from = 0;
      send = () => {
        for (;;) {
          const bytes = parts[part];
          if (bytes === undefined) break;
          const size = bytes.copy(reader.room(), 0, from);
          from += size;
          if (from === bytes.length) {
            part += 1;
            from = 0;
          }
          if (!reader.filled(size)) return;
        }
        send = undefined;
        reader.ended();
      };
      send();
    },
    resume: () => send?.(),
    stop: () => (send = undefined),
  };
}

function collected(): OwnOutput & { readonly text: () => string } {
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
