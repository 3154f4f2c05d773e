import { bridgeError } from './protocol/bridge-error.ts';
import { Connections, type BridgeSink } from './protocol/multiplexer.ts';
import { Outbox } from './protocol/outbox.ts';
import { helperProgram, helperWords } from './helper-program.ts';
import type { ExecOutcome } from '../exec/protocol/exec-status.ts';
import { messageBody, messageSlot } from '../exec/protocol/frame.ts';
import { asBerthError, BerthError } from '../../../errors.ts';
import { escapeControl } from '../../../log.ts';
import { ExecStream } from '../exec/exec-stream.ts';
import { openExec, type OpenedExec, type PodPlace } from '../exec/open-exec.ts';

/** A helper that runs in the pod, and the way to it. */
export interface BridgeLink {
  readonly connections: Connections;
  /** When it is over: why. Connections have been closed before. */
  readonly ended: Promise<BridgeEnd>;
  stop(): void;
}

export interface BridgeEnd {
  /** The image has no Python: there will be no bridge. */
  readonly impossible: boolean;
  readonly why: string;
  /** The other half does not keep to the protocol. */
  readonly fault?: BerthError;
}

/** As /bin/sh says of a program that is not there. */
const noProgram = 127;

/** Of what a helper complains, in characters. */
const longestComplaint = 2000;

/** @throws {BerthError} as `openExec` */
export async function openBridge({ server, pod }: PodPlace, sink: BridgeSink): Promise<BridgeLink> {
  const target = { ...pod, argv: helperWords(), tty: false };
  return bridgeOver(await openExec({ server, target }), sink);
}

function bridgeOver(opened: OpenedExec, sink: BridgeSink): BridgeLink {
  const { promise, resolve } = Promise.withResolvers<BridgeEnd>();
  let complaint = '';
  const stream = new ExecStream(opened, {
    output: (channel, bytes) => {
      if (channel === 'stderr') {
        complaint = (complaint + bytes.toString('utf8')).slice(-longestComplaint);
        return;
      }
      try {
        connections.push(bytes);
      } catch (thrown) {
        stream.giveUp(asBerthError(thrown, 'reading what the bridge in the pod says'));
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
      stream.giveUp(bridgeError('it asks and asks, and reads no answer'));
    }
    return !outbox.isFull();
  };
  const connections = new Connections(send, sink);
  stream.start();
  send(Buffer.from(helperProgram));
  return { connections, ended: promise, stop: () => stream.giveUp(stopped()) };
}

/** Slots of the exec's standard input that may be on their way, and the size of each. */
const slotCount = 4;
const slotSize = 64 * 1024;

/** @param drained There was too much in the outbox, and there is room again. */
function pumpOf(outbox: Outbox, stream: ExecStream, drained: () => void): () => void {
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
    // What is said in one turn goes together.
    queueMicrotask(pump);
  };
}

function endOf({ exitCode, reason }: ExecOutcome, complaint: string): BridgeEnd {
  const impossible = reason === undefined && exitCode === noProgram;
  if (impossible) return { impossible, why: 'the image has no Python 3' };
  const said = reason?.message ?? `it exited with ${exitCode}`;
  const last = complaint.trim().split('\n').at(-1) ?? '';
  const fault = reason !== undefined && faults.includes(reason.code) ? { fault: reason } : {};
  return { impossible, why: last === '' ? said : `${said}: ${escapeControl(last)}`, ...fault };
}

/** Behind which is no network that comes back. */
const faults = ['forwarding-protocol', 'exec-protocol', 'internal-error'];

function stopped(): BerthError {
  return new BerthError('the bridge was ended from this side', {
    code: 'forwarding-stopped',
    exit: 'temporary',
    hint: 'The session it belongs to is over.',
  });
}
