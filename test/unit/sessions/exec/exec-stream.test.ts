import { describe, expect, it } from 'vitest';
import { ExecStream } from '../../../../src/sessions/exec/exec-stream.ts';
import { channels } from '../../../../src/sessions/exec/protocol/channels.ts';
import { ExitMarkers } from '../../../../src/sessions/exec/protocol/exit-marker.ts';
import type { ExecOutcome } from '../../../../src/sessions/exec/protocol/exec-status.ts';
import { messageSlot } from '../../../../src/sessions/exec/protocol/frame.ts';
import type { UpgradedSocket } from '../../../../src/sessions/exec/websocket.ts';

const nonce = 'f00d';
const mark = `\u001eberth ${nonce} 007\u001e`;
const [final, binary, pong] = [0x80, 2, 10];

/** A frame of a server, which masks nothing. */
function served(opcode: number, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([final | opcode, payload.length]), payload]);
}

/**
 * A stand-in for an API server: that a real one stops reading in the moment after it has answered cannot
 * be provoked. It answers pings as long as it reads.
 */
class Server {
  reads = true;
  /** The first two bytes of each message: the channel, and of the end of standard input the channel that ends. */
  readonly got: Buffer[] = [];
  #say: (bytes: Buffer) => void = () => undefined;

  get socket(): UpgradedSocket {
    return {
      start: ({ data }: { data: (bytes: Buffer) => void }) => (this.#say = data),
      write: (bytes: Buffer, sent?: () => void) => {
        sent?.();
        if ((bytes[0] ?? 0) === (final | binary)) this.got.push(unmasked(bytes.subarray(0, 8)));
        if (this.reads && (bytes[0] ?? 0) === (final | 9)) this.#answer(bytes);
      },
      pause: () => undefined,
      resume: () => undefined,
      destroy: () => undefined,
      hostIsSilent: () => false,
    } as unknown as UpgradedSocket;
  }

  /** The command has ended, and says so on both channels. */
  ends(): void {
    for (const channel of [channels.stdout, channels.stderr])
      this.#say(served(binary, Buffer.concat([Buffer.from([channel]), Buffer.from(mark)])));
  }

  #answer(ping: Buffer): void {
    setImmediate(() => this.#say(served(pong, unmasked(ping))));
  }
}

/** A short frame's payload: its key comes before it. */
function unmasked(frame: Buffer): Buffer {
  const key = frame.subarray(2, 6);
  return Buffer.from(frame.subarray(6).map((byte, index) => byte ^ (key[index] ?? 0)));
}

function begun(): { server: Server; stream: ExecStream; ended: Promise<ExecOutcome> } {
  const server = new Server();
  const { promise: ended, resolve: end } = Promise.withResolvers<ExecOutcome>();
  const stream = new ExecStream(
    server.socket,
    { output: () => undefined, end },
    { marks: new ExitMarkers(nonce, { tty: false }) },
  );
  stream.start();
  return { server, stream, ended };
}

const input = (stream: ExecStream): void => stream.input(messageSlot(64), 64, () => undefined);
const later = (milliseconds: number): Promise<'goes on'> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds, 'goes on'));

describe('a command that has ended and left its input unread', () => {
  it('ends the stream if the input was sent before', async () => {
    const { server, stream, ended } = begun();
    input(stream);
    server.reads = false;
    server.ends();
    expect(await Promise.race([ended, later(10_000)])).toEqual({ exitCode: 7 });
  });

  it('says that there is no more, once, and sends none of what comes then', async () => {
    const { server, stream } = begun();
    server.ends();
    const before = server.got.length;
    input(stream);
    stream.endInput();
    await later(500);
    expect(server.got.length).toBe(before);
    expect(server.got.at(-1)).toEqual(Buffer.from([channels.close, channels.stdin]));
    stream.giveUp(new Error('over') as never);
  });

  it('does not end the stream while the server reads, because background processes may write', async () => {
    const { server, stream, ended } = begun();
    input(stream);
    server.ends();
    expect(await Promise.race([ended, later(700)])).toBe('goes on');
    stream.giveUp(new Error('over') as never);
    await ended;
  });
});
