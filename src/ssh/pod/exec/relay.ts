import { BerthError } from '../../../errors.ts';
import type { ExecOutcome } from './protocol/exec-status.ts';
import { EndMarks } from './protocol/exit-marker.ts';
import { messageBody, messageSlot } from './protocol/frame.ts';
import { BeginMark, openingLines, type Opening } from './protocol/opening.ts';
import type { OwnInput } from './stdin-source.ts';
import type { OwnOutput } from './stdout-sink.ts';
import type { TerminalSize } from './raw-terminal.ts';
import { ExecStream, type Heartbeat } from './exec-stream.ts';
import { openExec, type OpenExec } from './open-exec.ts';
import type { UnansweredInput } from './idle-watchdog.ts';

/** The local terminal of a command that has one. */
export interface RelayTerminal {
  size(): TerminalSize;
  onResize(changed: () => void): void;
}

export interface RelayInput extends OpenExec {
  readonly stdin: OwnInput;
  readonly stdout: OwnOutput;
  readonly stderr: OwnOutput;
  readonly terminal?: RelayTerminal;
  readonly heartbeat?: Heartbeat;
  /** Of a command `withEndMark`: only its own word counts. */
  readonly nonce?: string;
  /**
   * What such a command reads first. Standard input waits until the command has begun: containerd loses the
   * end of an input that comes before the process has started, and who reads to the end waits for ever.
   */
  readonly opening?: Opening;
  /** Told of what is sent and heard. */
  readonly unanswered?: UnansweredInput;
  /** The stream stands. */
  readonly onOpen?: () => void;
  /** What goes less well than it should. */
  readonly warn?: (what: BerthError) => void;
}

/** Slots of standard input that may be on their way at once. */
const slotCount = 3;
const slotSize = 64 * 1024;

/**
 * Runs a command in a pod with these streams as its own, to its end.
 *
 * @returns The command's exit code; 255 and a reason where nobody knows it.
 * @throws {BerthError} what `openExec` throws: then nothing ran
 */
export async function relay(input: RelayInput): Promise<ExecOutcome> {
  const opened = await openExec(input);
  input.onOpen?.();
  const { promise, resolve } = Promise.withResolvers<ExecOutcome>();
  const outputs = { stdout: input.stdout, stderr: input.stderr };
  const full = new Set<OwnOutput>();
  const { nonce, opening } = input;
  const begin = opening && nonce !== undefined ? new BeginMark(nonce) : undefined;
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
        if (awaited === undefined) input.unanswered?.heard();
        if (outputs[channel].write(own)) return;
        full.add(outputs[channel]);
        stream.pause();
      },
      end: resolve,
    },
    {
      ...(input.heartbeat === undefined ? {} : { heartbeat: input.heartbeat }),
      ...(nonce === undefined ? {} : { marks: new EndMarks(nonce, input.target) }),
    },
  );
  for (const output of Object.values(outputs)) {
    output.onDrained = () => {
      if (full.delete(output) && full.size === 0) stream.resume();
    };
    output.onBroken = (error) => stream.giveUp(outputClosed(error));
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
    if (size !== undefined) stream.resize(size.columns, size.rows);
  };
  resize();
  input.terminal?.onResize(resize);
  if (opening === undefined) sendInput(input, stream);
  else {
    input.unanswered?.sent();
    stream.inputText(openingLines(opening).map((line) => `${line}\n`));
  }
  const outcome = await promise;
  input.stdin.stop();
  input.unanswered?.heard();
  // Whoever reads may take the time that it takes; who ends the session does not wait for them.
  const flushed = Promise.all(Object.values(outputs).map((output) => output.flushed()));
  await Promise.race([flushed, givenUp.promise]);
  input.signal?.removeEventListener('abort', abort);
  return begin?.declined === undefined ? outcome : { ...outcome, declined: begin.declined };
}

/** Each slot is read into, sent from and read into again: one is always there to read into. */
function sendInput({ stdin, unanswered, warn }: RelayInput, stream: ExecStream): void {
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
    ended: () => {
      if (!stream.endInput()) warn?.(noHalfClose());
    },
  });
}

function noHalfClose(): BerthError {
  return new BerthError('the end of standard input can not be said to this cluster', {
    code: 'exec-no-half-close',
    exit: 'unavailable',
    hint: 'An API server before 1.30 knows no v5.channel.k8s.io: what waits for the end of its input waits for ever.',
  });
}

function outputClosed(cause: Error): BerthError {
  return new BerthError('nobody reads what the command says any more', {
    code: 'exec-output-closed',
    exit: 'io',
    hint: 'The client went away; how the command ended is not known.',
    forUser: true,
    cause,
  });
}

function aborted(reason: unknown): BerthError {
  return reason instanceof BerthError
    ? reason
    : new BerthError('the session was ended from outside', {
        code: 'exec-aborted',
        exit: 'temporary',
        hint: 'How the command ended is not known.',
        forUser: true,
        cause: reason,
      });
}
