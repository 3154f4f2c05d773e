import { randomBytes } from 'node:crypto';
import { asBerthError, BerthError } from '../../system/errors/berth-error.ts';
import { ChannelReader, channels, resizeMessage } from './protocol/channels.ts';
import {
  type ExecOutcome,
  lostOutcome,
  maxStatusBytes,
  outcomeWithoutMarker,
  parseStatus,
  protocolError,
} from './protocol/exec-status.ts';
import type { TerminalSize } from '../../system/text/terminal-size.ts';
import type { ExitMarkers } from './protocol/exit-marker.ts';
import { closePayload, frameOf, frameInSlot, opcodes } from './protocol/frame.ts';
import { FrameReader } from './protocol/frame-reader.ts';
import type { UpgradedSocket } from './websocket.ts';

export interface ExecSink {
  /** Receives output of the command. The bytes are valid only during the call. */
  output(channel: 'stdout' | 'stderr', bytes: Buffer): void;
  /** Called once, after all output. */
  end(outcome: ExecOutcome): void;
}

export interface Heartbeat {
  /** Milliseconds between two pings. */
  readonly every: number;
  /** How many intervals in a row may pass without data from the server. */
  readonly missed: number;
}

export interface ExecStreamOptions {
  readonly heartbeat?: Heartbeat;
  /** Exit markers of a command started `withExitMarker`. If given, only they determine the exit code. */
  readonly marks?: ExitMarkers;
}

/** About the same as kubectl, which gives up after 61 s. */
const defaultHeartbeat: Heartbeat = { every: 15_000, missed: 4 };

/** A server that has read all standard input answers a ping within this time. Milliseconds. */
const stuckMs = 300;

/** How long a possible beginning of an exit marker is held back: the marker is a single write(2). Milliseconds. */
const heldMs = 50;

/** The longest message that is sent, the same as the size of a slot. Bytes. */
const longestMessage = 64 * 1024;

/** A server closes right after the Status. How long to wait for one that does not. Milliseconds. */
const closeGrace = 1000;

/** A command that runs at the other end of an exec stream: its input, output, terminal size and exit code. */
export class ExecStream {
  readonly #socket: UpgradedSocket;
  readonly #sink: ExecSink;
  readonly #heartbeat: Heartbeat;
  readonly #marks: ExitMarkers | undefined;
  /** Allocated when its first byte arrives. */
  #status: Buffer | undefined;
  #statusBytes = 0;
  #closeCode: number | undefined;
  /** Payload of the server's last ping that has not been answered yet. */
  #asked: Buffer | undefined;
  #over = false;
  #inputEnded = false;
  #paused = false;
  #heard = true;
  #missed = 0;
  #pings = 0;
  /** Number of the last ping that was answered: the server has read everything sent before it. */
  #answered = 0;
  /** Number of the first ping after the last standard input. */
  #pingAfterInput = 0;
  #timer: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  #stuck: NodeJS.Timeout | undefined;
  #held: NodeJS.Timeout | undefined;

  constructor(socket: UpgradedSocket, sink: ExecSink, options: ExecStreamOptions = {}) {
    this.#socket = socket;
    this.#sink = sink;
    this.#heartbeat = options.heartbeat ?? defaultHeartbeat;
    this.#marks = options.marks;
  }

  /** Starts reading. From now on the sink is called. */
  start(): void {
    const messages = new ChannelReader((channel, bytes) => this.#fromChannel(channel, bytes));
    const reader = new FrameReader({
      message: (bytes, first) => messages.message(bytes, first),
      control: (opcode, payload) => this.#control(opcode, payload),
    });
    this.#timer = setInterval(() => this.#beat(), this.#heartbeat.every).unref();
    this.#socket.start({
      data: (bytes) => {
        if (this.#over) return;
        this.#heard = true;
        try {
          reader.push(bytes);
        } catch (thrown) {
          this.#end(lostOutcome(asBerthError(thrown, 'reading the exec stream')));
        }
      },
      ended: (error) => this.#end(this.#outcome(error)),
    });
  }

  /**
   * Sends standard input from a slot (`messageSlot`).
   *
   * @param sent called when the slot may be used again
   */
  input(slot: Buffer, length: number, sent: () => void): void {
    // The command has ended and does not read it.
    if (this.#inputEnded) {
      queueMicrotask(sent);
      return;
    }
    this.#pingAfterInput = this.#pings + 1;
    this.#socket.write(frameInSlot(slot, channels.stdin, length, mask()), sent);
  }

  /** Sends lines on standard input, before any input from a slot. */
  inputText(lines: readonly string[]): void {
    this.#pingAfterInput = this.#pings + 1;
    const bytes = Buffer.from(lines.join(''));
    for (let at = 0; at < bytes.length; at += longestMessage) {
      const part = bytes.subarray(at, at + longestMessage);
      this.#send(opcodes.binary, Buffer.concat([Buffer.from([channels.stdin]), part]));
    }
  }

  /** Sends the end of standard input. */
  endInput(): void {
    if (this.#inputEnded) return;
    this.#inputEnded = true;
    this.#send(opcodes.binary, Buffer.from([channels.close, channels.stdin]));
  }

  resize(size: TerminalSize): void {
    const message = resizeMessage(size);
    if (message !== undefined)
      this.#send(opcodes.binary, Buffer.concat([Buffer.from([channels.resize]), message]));
  }

  /** Stops reading: the server's buffers fill up, and then the command blocks. */
  pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#heard = true;
    this.#socket.resume();
  }

  /** Ends the stream from this side. */
  giveUp(reason: BerthError): void {
    this.#end(lostOutcome(reason));
  }

  #fromChannel(channel: number, bytes: Buffer): void {
    if (channel === channels.stdout) this.#output('stdout', bytes);
    else if (channel === channels.stderr) this.#output('stderr', bytes);
    else if (channel === channels.error) this.#addStatus(bytes);
  }

  #output(channel: 'stdout' | 'stderr', bytes: Buffer): void {
    const own = (said: Buffer): void => this.#sink.output(channel, said);
    if (this.#marks === undefined) own(bytes);
    else if (this.#marks.pass(channel, bytes, own)) this.#commandEnded();
    else if (this.#marks.holds) {
      clearTimeout(this.#held);
      this.#held = setTimeout(() => this.#release(), heldMs);
    }
  }

  #release(): void {
    clearTimeout(this.#held);
    this.#marks?.release((channel, bytes) => this.#sink.output(channel, bytes));
  }

  /**
   * Background processes of the command may still write, and the server ends the stream after that. It never does so
   * while standard input is left unread. So the shell around the command reads the rest of the input, and the end of
   * input is sent here. If the server does not accept even that, this side ends the stream.
   */
  #commandEnded(): void {
    // With a terminal, the shell around the command waits for this line.
    if (this.#marks?.tty === true) this.#send(opcodes.binary, Buffer.from([channels.stdin, 0x0a]));
    else {
      this.endInput();
      if (!this.#inputWaits()) return;
      this.#ping();
      this.#stuck = setTimeout(() => {
        if (this.#inputWaits()) this.#end(this.#outcome(undefined));
      }, stuckMs);
    }
  }

  #addStatus(bytes: Buffer): void {
    const exitCode = this.#marks?.exitCode;
    if (exitCode !== undefined) this.#end({ exitCode });
    else if (this.#statusBytes + bytes.length > maxStatusBytes)
      throw protocolError(`the Status of the command has more than ${maxStatusBytes} bytes`);
    this.#status ??= Buffer.alloc(maxStatusBytes);
    this.#statusBytes += bytes.copy(this.#status, this.#statusBytes);
    this.#grace ??= setTimeout(() => this.#end(this.#outcome(undefined)), closeGrace);
  }

  #control(opcode: number, payload: Buffer): void {
    if (opcode === opcodes.ping) this.#pong(payload);
    if (opcode === opcodes.pong && payload.length === 4) this.#answered = payload.readUInt32BE();
    if (opcode !== opcodes.close) return;
    this.#closeCode = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
    this.#end(this.#outcome(undefined));
  }

  /** Answers only the latest ping (RFC 6455, 5.5.3), so a server that sends pings and does not read causes no queue. */
  #pong(payload: Buffer): void {
    const first = this.#asked === undefined;
    this.#asked = payload;
    if (first) this.#answerPing();
  }

  #answerPing(): void {
    const payload = this.#asked;
    if (payload === undefined || this.#over) return;
    this.#socket.write(frameOf(opcodes.pong, payload, mask()), () => {
      if (this.#asked === payload) this.#asked = undefined;
      else this.#answerPing();
    });
  }

  #outcome(error: Error | undefined): ExecOutcome {
    const exitCode = this.#marks?.exitCode;
    if (exitCode !== undefined) return { exitCode };
    if (this.#status !== undefined) {
      const said = parseStatus(this.#status.toString('utf8', 0, this.#statusBytes));
      return this.#marks === undefined ? said : outcomeWithoutMarker(said, this.#marks.missing);
    }
    const how =
      error?.message ??
      (this.#closeCode === undefined ? 'it ended' : `it was closed with code ${this.#closeCode}`);
    return lostOutcome(connectionLost(how, error));
  }

  /** Counts intervals, not time: a process that was stopped for an hour sends a ping first. */
  #beat(): void {
    // No answer can arrive while nothing is read.
    if (this.#heard || this.#paused || this.#inputWaits()) this.#missed = 0;
    else this.#missed += 1;
    if (this.#missed >= this.#heartbeat.missed || this.#socket.hostIsSilent()) {
      this.#end(lostOutcome(connectionLost('the API server stopped responding', undefined)));
      return;
    }
    this.#heard = false;
    if (!this.#paused) this.#ping();
  }

  #ping(): void {
    this.#pings += 1;
    const number = Buffer.alloc(4);
    number.writeUInt32BE(this.#pings);
    this.#send(opcodes.ping, number);
  }

  /**
   * Whether standard input is still unread. A command that does not read its input keeps the API server from reading
   * what we send, including pings. Then missing answers mean nothing, and only TCP shows whether the host is alive.
   */
  #inputWaits(): boolean {
    return this.#answered < this.#pingAfterInput;
  }

  #send(opcode: number, payload: Buffer): void {
    if (!this.#over) this.#socket.write(frameOf(opcode, payload, mask()));
  }

  #end(outcome: ExecOutcome): void {
    if (this.#over) return;
    this.#send(opcodes.close, closePayload(1000));
    this.#over = true;
    clearInterval(this.#timer);
    clearTimeout(this.#grace);
    clearTimeout(this.#stuck);
    this.#release();
    this.#socket.destroy();
    this.#sink.end(outcome);
  }
}

function mask(): Buffer {
  return randomBytes(4);
}

function connectionLost(how: string, cause: Error | undefined): BerthError {
  return new BerthError('exec-connection-lost', `the connection to the pod was lost: ${how}`, {
    forUser: true,
    cause,
  });
}
