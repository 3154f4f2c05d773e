import { readOpening } from './opening.ts';

/**
 * The pod's own word that a command has ended. Kubernetes says `Success` of a stream that was cut as
 * well, drops the last of a terminal's output, and keeps silent while standard input is unread: so a
 * shell around the command marks the end in the output itself, and nothing else is believed.
 */
const separator = '\u001e';
const begin = (nonce: string): string => `${separator}berth ${nonce} `;
const digits = 3;
/** As ssh(1) says of a session whose end nobody knows. */
const unknown = 255;

const inScript = String.raw`'\036berth %s %03d\036' "$0" "$s"`;
/** A node keeps a stream open as long as it cannot get rid of standard input; an image may be without cat. */
const drain = 'exec >/dev/null 2>&1; cat';
/** What a terminal's keys and the client send is for the command. */
const signalsAside = 'trap : INT QUIT TERM ALRM USR1 USR2';

/**
 * Words of a shell that reads an opening (`openingLines`), runs the command and marks its end on all that it
 * writes to. With a terminal it then waits for a line: what was written before is lost where a terminal
 * closes too early.
 *
 * @param nonce Letters and digits that the command's output does not hold.
 */
export function withEndMark(nonce: string, { tty }: { readonly tty: boolean }): string[] {
  const said = tty
    ? `printf ${inScript}; read -r s_`
    : `printf ${inScript}; printf ${inScript} >&2; ${drain}`;
  const script = `${signalsAside}; (${readOpening}); s=$?; ${said}; exit "$s"`;
  return ['/bin/sh', '-c', script, nonce];
}

/** Takes the marks out of what a command writes. */
export class EndMarks {
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

  /** The command's exit code, once all that it wrote has passed. */
  get exitCode(): number | undefined {
    return this.#awaited.size === 0 ? this.#code : undefined;
  }

  /** On which channels none has come yet. */
  get missing(): string {
    return [...this.#awaited].join(' and ');
  }

  /** Whether something waits that may be the beginning of a mark, and may as well be all that was written. */
  get holds(): boolean {
    return [...this.#held.values()].some(
      ({ bytes, shown }) => bytes.length > shown && bytes.length < this.#begin.length,
    );
  }

  /**
   * Hands on what is the command's; what may be the beginning of a mark waits for the rest, or `release`.
   *
   * @returns Whether `exitCode` is known by this.
   */
  pass(channel: Channel, bytes: Buffer, output: (bytes: Buffer) => void): boolean {
    const { bytes: held, shown } = this.#held.get(channel) ?? { bytes: undefined, shown: 0 };
    const data = held === undefined ? bytes : Buffer.concat([held, bytes]);
    this.#held.delete(channel);
    if (!this.#awaited.has(channel)) {
      // A terminal shows its answer too, and is about to close.
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
        // Whoever else can write it in the pod is the user, too.
        this.#code = /^[0-2]\d\d$/.test(code) ? Math.min(Number(code), unknown) : unknown;
        this.#awaited.delete(channel);
        if (!this.tty) emit(data.subarray(end), output);
        return this.#awaited.size === 0;
      }
    }
    return false;
  }

  /**
   * Hands on what waits, when nothing has come for a while: a protocol's last byte may be that of a mark, and
   * its other end waits for it. If the rest comes nevertheless, it is a mark all the same.
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
  /** So many of them were handed on already. */
  readonly shown: number;
}

type Channel = 'stdout' | 'stderr';

function emit(bytes: Buffer, output: (bytes: Buffer) => void): void {
  if (bytes.length > 0) output(bytes);
}
