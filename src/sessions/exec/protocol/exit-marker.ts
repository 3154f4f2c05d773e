import { readPreamble } from './command-preamble.ts';

/**
 * A marker in the output that contains the exit code of a command. Kubernetes reports `Success` also for a stream that
 * was cut, drops the last output of a terminal, and reports nothing while standard input is unread. So a shell around
 * the command writes this marker after its output, and only the marker counts.
 */
const separator = '\u001e';
const begin = (nonce: string): string => `${separator}berth ${nonce} `;
const digits = 3;
/** As ssh(1), for a session whose exit code is unknown. */
const unknown = 255;

const inScript = String.raw`'\036berth %s %03d\036' "$0" "$s"`;
/**
 * Reads the rest of standard input, with the outputs still open: containerd ends the input when an output ends, and a
 * stream that ends while input is on its way loses what the client has not received. An image may lack cat.
 */
const drain = 'cat >/dev/null 2>&1 || while read -r s_; do :; done';
/** Signals from the terminal and the client are for the command, not for the shell around it. */
const signalsAside = 'trap : INT QUIT TERM ALRM USR1 USR2';

/**
 * The argv of a shell that reads an opening (`preambleLines`), runs the command and writes the exit marker to each output.
 * With a terminal it then waits for a line, because output is lost if the terminal closes too early.
 *
 * @param nonce letters and digits that do not occur in the command's output
 */
export function withExitMarker(nonce: string, { tty }: { readonly tty: boolean }): string[] {
  const said = tty
    ? `printf ${inScript}; read -r s_`
    : `printf ${inScript}; printf ${inScript} >&2; ${drain}`;
  const script = `${signalsAside}; (${readPreamble}); s=$?; ${said}; exit "$s"`;
  return ['/bin/sh', '-c', script, nonce];
}

/** Finds and removes the exit markers in the output of a command. */
export class ExitMarkers {
  readonly #begin: Buffer;
  readonly tty: boolean;
  readonly #awaited: Set<Channel>;
  readonly #held = new Map<Channel, Held>();
  #code: number | undefined;

  constructor(nonce: string, { tty }: { readonly tty: boolean }) {
    this.#begin = Buffer.from(begin(nonce));
    this.tty = tty;
    this.#awaited = new Set(tty ? ['stdout'] : ['stdout', 'stderr']);
  }

  /** The command's exit code, once all of its output has passed. */
  get exitCode(): number | undefined {
    return this.#awaited.size === 0 ? this.#code : undefined;
  }

  /** The channels without a marker so far. */
  get missing(): string {
    return [...this.#awaited].join(' and ');
  }

  /** Whether bytes are held back that may be the beginning of a marker or the end of the output. */
  get holds(): boolean {
    return [...this.#held.values()].some(
      ({ bytes, shown }) => bytes.length > shown && bytes.length < this.#begin.length,
    );
  }

  /**
   * Passes on the output of the command. What may be the beginning of a marker is held back until the rest arrives, or
   * `release` is called.
   *
   * @returns whether these bytes complete `exitCode`
   */
  pass(channel: Channel, bytes: Buffer, output: (bytes: Buffer) => void): boolean {
    const { bytes: held, shown } = this.#held.get(channel) ?? { bytes: undefined, shown: 0 };
    const data = held === undefined ? bytes : Buffer.concat([held, bytes]);
    this.#held.delete(channel);
    if (!this.#awaited.has(channel)) {
      // A terminal echoes the line that ends the shell.
      if (!this.tty) emit(data.subarray(shown), output);
      return false;
    }
    const at = data.indexOf(this.#begin);
    const end = at + this.#begin.length + digits + separator.length;
    if (at < 0) this.#passUnmarked(channel, data, shown, output);
    else {
      emit(data.subarray(shown, at), output);
      if (data.length < end) this.#hold(channel, data.subarray(at), shown - at);
      else {
        const code = data.toString('latin1', at + this.#begin.length, end - separator.length);
        // Only the user's processes can forge it.
        this.#code = /^[0-2]\d\d$/.test(code) ? Math.min(Number(code), unknown) : unknown;
        this.#awaited.delete(channel);
        if (!this.tty) emit(data.subarray(end), output);
        return this.#awaited.size === 0;
      }
    }
    return false;
  }

  /**
   * Passes on what is held back, when nothing has arrived for a while: the last byte of a protocol message may look like
   * the beginning of a marker, and its receiver waits for it. If the rest arrives later, it still counts as a marker.
   */
  release(output: (channel: Channel, bytes: Buffer) => void): void {
    for (const [channel, { bytes, shown }] of this.#held) {
      this.#hold(channel, bytes, bytes.length);
      emit(bytes.subarray(shown), (rest) => output(channel, rest));
    }
  }

  #passUnmarked(
    channel: Channel,
    data: Buffer,
    shown: number,
    output: (bytes: Buffer) => void,
  ): void {
    const from = Math.max(0, data.length - this.#begin.length + 1);
    let at = data.indexOf(separator, from);
    while (at >= 0 && !data.subarray(at).equals(this.#begin.subarray(0, data.length - at)))
      at = data.indexOf(separator, at + 1);
    if (at >= 0) this.#hold(channel, data.subarray(at), shown - at);
    emit(data.subarray(shown, at < 0 ? undefined : at), output);
  }

  #hold(channel: Channel, bytes: Buffer, shown: number): void {
    this.#held.set(channel, { bytes: Buffer.from(bytes), shown: Math.max(0, shown) });
  }
}

interface Held {
  readonly bytes: Buffer;
  /** How many of them were passed on already. */
  readonly shown: number;
}

type Channel = 'stdout' | 'stderr';

function emit(bytes: Buffer, output: (bytes: Buffer) => void): void {
  if (bytes.length > 0) output(bytes);
}
