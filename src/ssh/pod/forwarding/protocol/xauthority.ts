/** A cookie of an X display, from xauth's file (Xau(3), AuFileFormat). */
export interface XCookie {
  readonly name: string;
  readonly data: Buffer;
}

interface Entry extends XCookie {
  readonly display: string;
}

/** The cookie of a display: the last entry, which is the one that sshd's xauth has just added. */
export function cookieOf(file: Buffer, display: number): XCookie | undefined {
  return entries(file).findLast((entry) => entry.display === String(display));
}

/** Name and data of a cookie as an entry of xauth's file has them, after address and display. */
export function cookieFields({ name, data }: XCookie): Buffer {
  return Buffer.concat([Buffer.from(name), data].map(counted));
}

function counted(part: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(part.length);
  return Buffer.concat([length, part]);
}

/** What is cut off at the end is nothing: xauth may be writing. */
function entries(file: Buffer): Entry[] {
  const found: Entry[] = [];
  let at = 0;
  const next = (): Buffer | undefined => {
    if (at + 2 > file.length) return undefined;
    const end = at + 2 + file.readUInt16BE(at);
    const part = end > file.length ? undefined : file.subarray(at + 2, end);
    at = end;
    return part;
  };
  while (at + 2 <= file.length) {
    // The family of the address, and the address: a cookie of sshd's is of this machine.
    at += 2;
    next();
    const [display, name, data] = [next(), next(), next()];
    if (display === undefined || name === undefined || data === undefined) break;
    found.push({ display: display.toString('latin1'), name: name.toString('latin1'), data });
  }
  return found;
}

/** The number of a display that sshd forwards, e.g. 10 of `localhost:10.0`; its port is 6000 more. */
export function forwardedDisplay(display: string | undefined): number | undefined {
  const number = Number(/^[\w.-]+:(\d{1,4})(?:\.\d+)?$/.exec(display ?? '')?.[1] ?? NaN);
  return Number.isInteger(number) ? number : undefined;
}
