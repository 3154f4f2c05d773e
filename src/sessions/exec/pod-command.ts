import { BerthError } from '../../system/errors/berth-error.ts';
import { escapeControl } from '../../log.ts';
import type { ExecOutcome } from './protocol/exec-status.ts';
import type { StdoutSink } from './stdout-sink.ts';
import type { PodTarget } from './open-exec.ts';
import { MemoryStdin } from './stdin-source.ts';
import { relayCommand } from './relay-command.ts';

export interface PodCommandInput extends PodTarget {
  readonly argv: readonly string[];
  readonly input?: readonly Buffer[];
  readonly signal?: AbortSignal;
}

/** How much of the output of a short command is kept. Bytes. */
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
    server,
    stdin,
    stdout,
    stderr,
    target: { ...pod, argv, tty: false },
    signal,
  });
  return { ...outcome, stdout: stdout.text(), stderr: stderr.text() };
}

function collected(): StdoutSink & { readonly text: () => string } {
  let bytes = Buffer.alloc(0);
  const sink = output((more) => {
    bytes = Buffer.concat([bytes, more.subarray(0, longestAnswer - bytes.length)]);
  });
  return { ...sink, text: () => bytes.toString('utf8').trim() };
}

/** The longest answer to one line, in bytes: enough for some thousand processes. */
const longestDialogueAnswer = 1024 * 1024;

const longestComplaint = 2000;

/** A command in a pod that answers each line of input with lines of output, the last of which is a dot. */
export class PodDialogue {
  readonly #input = new MemoryStdin();
  readonly #outcome: Promise<ExecOutcome>;
  readonly #broken = new AbortController();
  #said = Buffer.alloc(0);
  #complaint = '';
  #heard: (() => void) | undefined;

  constructor({
    server,
    pod,
    argv,
    signal,
  }: PodTarget & { readonly argv: readonly string[]; readonly signal: AbortSignal }) {
    this.#outcome = relayCommand({
      server,
      stdin: this.#input,
      target: { ...pod, argv, tty: false },
      stdout: output((bytes) => this.#hear(bytes)),
      stderr: output((bytes) => {
        if (this.#complaint.length < longestComplaint) this.#complaint += bytes.toString();
      }),
      signal: AbortSignal.any([signal, this.#broken.signal]),
    });
    // `first` and `ask` report it.
    this.#outcome.catch(() => undefined);
  }

  /** The first line of output, which the command writes without input. @throws as `ask` */
  async first(): Promise<string> {
    return (await this.#until(/^[^\n]*\n/))[0] ?? '';
  }

  /**
   * Sends a line.
   *
   * @returns the lines of the answer, without the dot
   * @throws {BerthError} `pod-shell-ended`, the reason why the exec ended, or the errors of `openExec`
   */
  async ask(line: string): Promise<readonly string[]> {
    this.#input.push(Buffer.from(`${line}\n`));
    return (await this.#until(/^(?:[^]*\n)?\.\n/)).slice(0, -1);
  }

  /** Ends the input, and waits until the command has ended. */
  async close(): Promise<void> {
    this.#input.end();
    await this.#outcome.catch(() => undefined);
  }

  #hear(bytes: Buffer): void {
    this.#said = Buffer.concat([this.#said, bytes]);
    if (this.#said.length > longestDialogueAnswer)
      this.#broken.abort(
        new BerthError(
          'pod-shell-output-too-long',
          'the cleanup shell in the pod sent more than 1 MiB',
        ),
      );
    this.#heard?.();
  }

  async #until(end: RegExp): Promise<string[]> {
    for (;;) {
      const [answer] = end.exec(this.#said.toString('latin1')) ?? [];
      if (answer !== undefined) {
        this.#said = this.#said.subarray(answer.length);
        return answer.trimEnd().split('\n');
      }
      const { promise, resolve } = Promise.withResolvers<undefined>();
      this.#heard = () => resolve(undefined);
      const outcome = await Promise.race([promise, this.#outcome]);
      if (outcome !== undefined) throw outcome.reason ?? this.#ended(outcome);
    }
  }

  #ended({ exitCode }: ExecOutcome): BerthError {
    const said = escapeControl(this.#complaint.trim().slice(0, longestComplaint));
    return new BerthError(
      'pod-shell-ended',
      `the shell in the pod ended with exit code ${exitCode}: ${said}`,
    );
  }
}

function output(take: (bytes: Buffer) => void): StdoutSink {
  return {
    write: (bytes) => {
      take(bytes);
      return true;
    },
    onDrained: () => undefined,
    onBroken: () => undefined,
    flushed: () => Promise.resolve(),
  };
}
