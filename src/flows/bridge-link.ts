import { Connections, type BridgeSink } from '../session/bridge/connections.ts';
import { helperProgram, helperWords } from '../session/bridge/helper.ts';
import type { ExecOutcome } from '../session/relay/exec-status.ts';
import { messageBody, messageSlot } from '../session/relay/frame.ts';
import { BerthError } from '../errors.ts';
import { escapeControl } from '../log.ts';
import { ExecStream } from './exec-stream.ts';
import { openExec, type OpenedExec, type PodPlace } from './open-exec.ts';

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
        stream.giveUp(stopped(thrown));
      }
    },
    end: (outcome) => {
      connections.closeAll();
      resolve(endOf(outcome, complaint));
    },
  });
  const send = sender(stream);
  const connections = new Connections(send, sink);
  stream.start();
  send(Buffer.from(helperProgram));
  return { connections, ended: promise, stop: () => stream.giveUp(stopped(undefined)) };
}

/** Slots of the exec's standard input that may be on their way, and the size of each. */
const slotCount = 4;
const slotSize = 64 * 1024;

/** What waits is bounded by the windows of the connections. */
function sender(stream: ExecStream): (bytes: Buffer) => void {
  const free = Array.from({ length: slotCount }, () => messageSlot(slotSize));
  const waiting: Buffer[] = [];
  let planned = false;
  const fill = (body: Buffer): number => {
    let size = 0;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const count = next.copy(body, size);
      size += count;
      if (count < next.length) {
        waiting.unshift(next.subarray(count));
        break;
      }
    }
    return size;
  };
  const pump = (): void => {
    planned = false;
    while (waiting.length > 0) {
      const slot = free.pop();
      if (slot === undefined) return;
      stream.input(slot, fill(messageBody(slot)), () => {
        free.push(slot);
        pump();
      });
    }
  };
  return (bytes) => {
    waiting.push(bytes);
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
  return { impossible, why: last === '' ? said : `${said}: ${escapeControl(last)}` };
}

function stopped(cause: unknown): BerthError {
  return new BerthError('the bridge was ended from this side', {
    code: 'bridge-stopped',
    exit: 'temporary',
    hint: 'The session it belongs to is over, or the helper in the pod says what is no frame.',
    cause,
  });
}
