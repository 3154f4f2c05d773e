import { BerthError } from '../../system/errors/berth-error.ts';
import { ExecStream, type Heartbeat } from './exec-stream.ts';
import { openExec, type OpenExecInput } from './open-exec.ts';
import { type CommandPreamble, preambleLines, StartMarker } from './protocol/command-preamble.ts';
import type { ExecOutcome } from './protocol/exec-status.ts';
import { ExitMarkers } from './protocol/exit-marker.ts';
import { messageBody, messageSlot } from './protocol/frame.ts';
import type { TerminalSize } from '../../system/text/terminal-size.ts';
import type { StdinSource } from './stdin-source.ts';
import type { StdoutSink } from './stdout-sink.ts';

/** The local terminal of a command that runs on a terminal. */
export interface RelayTerminal {
  size(): TerminalSize;
  onResize(changed: () => void): void;
}

export interface RelayInput extends OpenExecInput {
  readonly stdin: StdinSource;
  readonly stdout: StdoutSink;
  readonly stderr: StdoutSink;
  readonly terminal?: RelayTerminal;
  readonly heartbeat?: Heartbeat;
  /** Nonce of a command started `withExitMarker`: then only its exit marker determines the exit code. */
  readonly nonce?: string;
  /**
   * What such a command reads first. Standard input is held back until the command has started: containerd loses the
   * end of input that arrives before that, and a command that reads to the end would wait forever.
   */
  readonly opening?: CommandPreamble;
  /** Notified of input and output. */
  readonly unanswered?: IdleWatchdog;
  /** Called when the stream is open. */
  readonly onOpen?: () => void;
}

/** How many slots of standard input may be in transit at the same time. */
const slotCount = 3;
const slotSize = 64 * 1024;

/**
 * Runs a command in a pod with these streams, and waits for its end.
 *
 * @returns the command's exit code; 255 and a reason if it is unknown
 * @throws {BerthError} the errors of `openExec`: then nothing ran
 */
export async function relayCommand(input: RelayInput): Promise<ExecOutcome> {
  const opened = await openExec(input);
  input.onOpen?.();
  const { promise, resolve } = Promise.withResolvers<ExecOutcome>();
  const outputs = { stdout: input.stdout, stderr: input.stderr };
  const full = new Set<StdoutSink>();
  const { nonce, opening } = input;
  const begin = opening && nonce !== undefined ? new StartMarker(nonce) : undefined;
  let awaited = begin;
  const stream = new ExecStream(
    opened,
    {
      output: (channel, bytes) => {
        const own = channel === 'stdout' ? (awaited?.pass(bytes) ?? bytes) : bytes;
        if (awaited?.begun === true) {
          awaited = undefined;
          sendInput(input, stream);
        }
        if (awaited === undefined) input.unanswered?.onActivity();
        if (outputs[channel].write(own)) return;
        full.add(outputs[channel]);
        stream.pause();
      },
      end: resolve,
    },
    {
      heartbeat: input.heartbeat,
      ...(nonce !== undefined && { marks: new ExitMarkers(nonce, input.target) }),
    },
  );
  for (const output of Object.values(outputs)) {
    output.onDrained = () => {
      if (full.delete(output) && full.size === 0) stream.resume();
    };
    output.onBroken = (error) =>
      stream.giveUp(
        new BerthError('exec-output-closed', 'the output of the command is no longer read', {
          forUser: true,
          cause: error,
        }),
      );
  }
  const givenUp = Promise.withResolvers<undefined>();
  const abort = (): void => {
    stream.giveUp(aborted(input.signal?.reason));
    givenUp.resolve(undefined);
  };
  input.signal?.addEventListener('abort', abort, { once: true });
  if (input.signal?.aborted === true) abort();
  stream.start();
  const resize = (): void => {
    const size = input.terminal?.size();
    if (size !== undefined) stream.resize(size);
  };
  resize();
  input.terminal?.onResize(resize);
  if (opening === undefined) sendInput(input, stream);
  else {
    input.unanswered?.sent();
    stream.inputText(preambleLines(opening).map((line) => `${line}\n`));
  }
  const outcome = await promise;
  input.stdin.stop();
  input.unanswered?.onActivity();
  // Wait for a slow reader, but not if the session is being ended.
  const flushed = Promise.all(Object.values(outputs).map((output) => output.flushed()));
  await Promise.race([flushed, givenUp.promise]);
  input.signal?.removeEventListener('abort', abort);
  return begin?.declined === undefined ? outcome : { ...outcome, declined: begin.declined };
}

/** Reads into slots and sends from them, in turn: one slot is always free for reading. */
function sendInput({ stdin, unanswered }: RelayInput, stream: ExecStream): void {
  const free = Array.from({ length: slotCount }, () => messageSlot(slotSize));
  let current = messageSlot(slotSize);
  stdin.start({
    room: () => messageBody(current),
    filled: (size) => {
      const slot = current;
      unanswered?.sent();
      stream.input(slot, size, () => {
        if (free.push(slot) === 1) stdin.resume();
      });
      current = free.shift() ?? messageSlot(slotSize);
      return free.length > 0;
    },
    ended: () => stream.endInput(),
  });
}

function aborted(reason: unknown): BerthError {
  return reason instanceof BerthError
    ? reason
    : new BerthError(
        'exec-aborted',
        `Berth stopped waiting for a command in the pod: ${String(reason)}; its exit status is unknown`,
        { forUser: true, cause: reason },
      );
}

/** The longest time between two checks, in milliseconds. */
const longestMs = 60_000;

/**
 * Calls `ask` repeatedly while a command does not react to its input. The exec stream to a dead node stays silent until
 * TCP gives up, which takes a quarter of an hour.
 */
export class IdleWatchdog {
  readonly #firstMs: number;
  readonly #ask: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** @param firstMs time until the first check, in milliseconds; it doubles up to a minute */
  constructor(firstMs: number, ask: () => void) {
    this.#firstMs = firstMs;
    this.#ask = ask;
  }

  /** Input was sent to the command. */
  sent(): void {
    if (this.#timer === undefined) this.#wait(this.#firstMs);
  }

  /** The command has written output, or has ended. */
  onActivity(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(milliseconds: number): void {
    this.#timer = setTimeout(() => {
      this.#wait(Math.min(2 * milliseconds, longestMs));
      this.#ask();
    }, milliseconds).unref();
  }
}
