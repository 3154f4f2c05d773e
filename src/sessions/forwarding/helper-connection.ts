import { asBerthError, BerthError } from '../../system/errors/berth-error.ts';
import type { ExecSink } from '../exec/exec-stream.ts';
import type { ExecOutcome } from '../exec/protocol/exec-status.ts';
import { messageBody, messageSlot } from '../exec/protocol/frame.ts';
import { escapeControl } from '../../log.ts';
import { sourceText } from '../../system/program/source-text.ts';
import { forwardingProtocolError } from './protocol/frames.ts';
import {
  frameCost,
  fullOutbox,
  initialWindow,
  maxEndpoints,
  maxOutbox,
} from './protocol/limits.ts';
import { Multiplexer, type MultiplexerSink } from './protocol/multiplexer.ts';

/** A program that runs where the session does: its input and its end. */
export interface ProgramStream {
  /** From now on the sink is called. */
  start(): void;
  /**
   * Sends standard input from a slot (`messageSlot`).
   *
   * @param sent called when the slot may be used again
   */
  input(slot: Buffer, length: number, sent: () => void): void;
  /** Ends the program, and the sink gets the reason. */
  giveUp(reason: BerthError): void;
}

/** Starts a program where the session runs, without the user's shell. */
export type StartProgram = (argv: readonly string[], sink: ExecSink) => Promise<ProgramStream>;

/** A helper that runs beside the session, and the connection to it. */
export interface HelperConnection {
  readonly connections: Multiplexer;
  /** Resolves with the reason when it has ended and all connections are closed. */
  readonly ended: Promise<HelperEnd>;
  stop(): void;
}

export interface HelperEnd {
  /** The image has no Python, so forwarding is not possible. */
  readonly impossible: boolean;
  readonly why: string;
  /** The helper violated the protocol. */
  readonly fault?: BerthError;
}

/** Exit code of /bin/sh for a program that does not exist. */
const noProgram = 127;

/** How much of the helper's standard error is kept, in characters. */
const longestComplaint = 2000;

/** @throws {BerthError} the errors of `start` */
export async function startHelper(
  start: StartProgram,
  sink: MultiplexerSink,
): Promise<HelperConnection> {
  const { promise, resolve } = Promise.withResolvers<HelperEnd>();
  let complaint = '';
  const stream = await start(helperArgv(), {
    output: (channel, bytes) => {
      if (channel === 'stderr') {
        complaint = (complaint + bytes.toString('utf8')).slice(-longestComplaint);
        return;
      }
      try {
        connections.push(bytes);
      } catch (thrown) {
        stream.giveUp(asBerthError(thrown, 'reading from the forwarding helper'));
      }
    },
    end: (outcome) => {
      connections.closeAll();
      resolve(endOf(outcome, complaint));
    },
  });
  const outbox = new Outbox();
  const pump = pumpOf(outbox, stream, () => connections.drained());
  const send = (bytes: Buffer): boolean => {
    outbox.push(bytes);
    pump();
    if (outbox.isOverfull()) {
      outbox.clear();
      stream.giveUp(forwardingProtocolError('it sends requests and does not read the answers'));
    }
    return !outbox.isFull();
  };
  const connections = new Multiplexer(send, sink);
  stream.start();
  send(Buffer.from(helperProgram));
  return {
    connections,
    ended: promise,
    stop: () => stream.giveUp(new BerthError('forwarding-stopped', 'forwarding was stopped')),
  };
}

/** How many slots of the helper's standard input may be in transit, and their size. */
const slotCount = 4;
const slotSize = 64 * 1024;

/** @param drained called when a full outbox has room again */
function pumpOf(outbox: Outbox, stream: ProgramStream, drained: () => void): () => void {
  const free = Array.from({ length: slotCount }, () => messageSlot(slotSize));
  let planned = false;
  const pump = (): void => {
    planned = false;
    while (!outbox.isEmpty()) {
      const slot = free.pop();
      if (slot === undefined) return;
      const wasFull = outbox.isFull();
      const size = outbox.fill(messageBody(slot));
      const hasRoom = wasFull && !outbox.isFull();
      stream.input(slot, size, () => {
        free.push(slot);
        pump();
      });
      if (hasRoom) drained();
    }
  };
  return () => {
    if (planned) return;
    planned = true;
    // Frames of one turn of the event loop are sent together.
    queueMicrotask(pump);
  };
}

function endOf({ exitCode, reason }: ExecOutcome, complaint: string): HelperEnd {
  const impossible = reason === undefined && exitCode === noProgram;
  if (impossible) return { impossible, why: 'the image has no Python 3' };
  const said = reason?.message ?? `it exited with ${exitCode}`;
  const last = complaint.trim().split('\n').at(-1) ?? '';
  const fault = reason !== undefined && faults.includes(reason.code) ? { fault: reason } : {};
  return { impossible, why: last === '' ? said : `${said}: ${escapeControl(last)}`, ...fault };
}

/** Errors that a new connection would not fix. */
const faults = ['forwarding-protocol', 'exec-protocol', 'internal-error'];

/** The Python program that runs beside the session (`helper/helper.py`). It is sent on its standard input. */
export const helperProgram = [
  `ROOM, MOST_PLACES = ${initialWindow}, ${4 * maxEndpoints}\n`,
  sourceText('./helper/listeners.py', import.meta.url),
  sourceText('./helper/helper.py', import.meta.url),
].join('');

/**
 * The helper's argv: it reads `helperProgram` from standard input and runs it. It exits with 127, without a
 * message, where the image has no Python 3: neither `python3` nor the interpreter that RHEL keeps for its own
 * tools.
 */
function helperArgv(): string[] {
  const start = sourceText('./helper/start.sh', import.meta.url);
  const bootstrap = sourceText('./helper/bootstrap.py', import.meta.url);
  return ['/bin/sh', '-c', start, String(Buffer.byteLength(helperProgram)), bootstrap];
}

/** Frames that wait to be sent to the helper, in order, and their cost. */
class Outbox {
  #waiting: Buffer[] = [];
  #cost = 0;

  /** @param frame must not be changed until it has been copied by `fill` */
  push(frame: Buffer): void {
    this.#waiting.push(frame);
    this.#cost += frame.length + frameCost;
  }

  /** Whether only frames that cannot wait elsewhere should be added. */
  isFull(): boolean {
    return this.#cost >= fullOutbox;
  }

  /** Whether there is more than Berth's own helper ever causes. */
  isOverfull(): boolean {
    return this.#cost >= maxOutbox;
  }

  isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Copies waiting bytes into a buffer. @returns how many */
  fill(place: Buffer): number {
    let size = 0;
    let done = 0;
    for (const frame of this.#waiting) {
      const count = frame.copy(place, size);
      size += count;
      this.#cost -= count;
      if (count < frame.length) {
        this.#waiting[done] = frame.subarray(count);
        break;
      }
      this.#cost -= frameCost;
      done += 1;
    }
    this.#waiting.splice(0, done);
    return size;
  }

  clear(): void {
    this.#waiting = [];
    this.#cost = 0;
  }
}
