/**
 * The channels of a remote command: the first byte of each message says which
 * (k8s.io/apimachinery/pkg/util/remotecommand/constants.go).
 */
export const channels = {
  stdin: 0,
  stdout: 1,
  stderr: 2,
  /** A `Status` at the end: how the command ended. */
  error: 3,
  resize: 4,
  /** Followed by the number of a channel that has ended. Since v5. */
  close: 255,
} as const;

/** By preference. Before v4 no exit code arrives. */
export const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const;

export type ExecProtocol = (typeof protocols)[number];

/** Whether the end of standard input can be said: before v5 a command that waits for it waits for ever. */
export function hasHalfClose(protocol: ExecProtocol): boolean {
  return protocol === 'v5.channel.k8s.io';
}

export type ChannelSink = (channel: number, bytes: Buffer) => void;

/** Gives the parts of messages to their channels, however the messages are cut. */
export class ChannelReader {
  readonly #sink: ChannelSink;
  #channel: number | undefined;

  constructor(sink: ChannelSink) {
    this.#sink = sink;
  }

  message(bytes: Buffer, first: boolean): void {
    if (first) this.#channel = undefined;
    let data = bytes;
    if (this.#channel === undefined) {
      this.#channel = bytes[0];
      data = bytes.subarray(1);
    }
    // An empty message says that the connection stands, and means nothing else.
    if (this.#channel !== undefined && data.length > 0) this.#sink(this.#channel, data);
  }
}

/** The size of a terminal, as the channel `resize` takes it; a terminal that says 0 says nothing. */
export function resizeMessage(columns: number, rows: number): Buffer | undefined {
  if (columns <= 0 || rows <= 0) return undefined;
  return Buffer.from(JSON.stringify({ Width: columns, Height: rows }));
}
