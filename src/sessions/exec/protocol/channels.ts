import type { TerminalSize } from '../../../system/text/terminal-size.ts';

/**
 * The channels of a remote command. The first byte of each message is the channel
 * (k8s.io/apimachinery/pkg/util/remotecommand/constants.go).
 */
export const channels = {
  stdin: 0,
  stdout: 1,
  stderr: 2,
  /** A `Status` at the end, with the outcome of the command. */
  error: 3,
  resize: 4,
  /** Followed by the number of the channel that has ended. */
  close: 255,
} as const;

/** Of Kubernetes 1.30 and later. Older versions do not transmit the end of standard input. */
export const execProtocol = 'v5.channel.k8s.io';

export type ChannelSink = (channel: number, bytes: Buffer) => void;

/** Passes parts of messages to their channels, wherever the messages are split. */
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
    // An empty message only shows that the connection is alive.
    if (this.#channel !== undefined && data.length > 0) this.#sink(this.#channel, data);
  }
}

/** A message for the channel `resize`; undefined for a terminal that reports size 0. */
export function resizeMessage({ columns, rows }: TerminalSize): Buffer | undefined {
  if (columns <= 0 || rows <= 0) return undefined;
  return Buffer.from(JSON.stringify({ Width: columns, Height: rows }));
}
