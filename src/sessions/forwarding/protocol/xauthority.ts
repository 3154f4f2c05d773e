/** A cookie of an X display, from the Xauthority file (Xau(3), AuFileFormat). */
export interface XCookie {
  readonly name: string;
  readonly data: Buffer;
}

interface Entry extends XCookie {
  readonly display: string;
}

/** The cookie of a display: its last entry, which sshd's xauth has just added. */
export function cookieOf(file: Buffer, display: number): XCookie | undefined {
  return entries(file).findLast((entry) => entry.display === String(display));
}

/** The fields of an entry after address and display: name and data of the cookie. */
export function cookieFields({ name, data }: XCookie): Buffer {
  return Buffer.concat([Buffer.from(name), data].map(counted));
}

function counted(part: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(part.length);
  return Buffer.concat([length, part]);
}

/** An incomplete entry at the end is ignored: xauth may be writing. */
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
    // Address family and address are skipped: sshd's cookies are for this host.
    at += 2;
    next();
    const [display, name, data] = [next(), next(), next()];
    if (display === undefined || name === undefined || data === undefined) break;
    found.push({ display: display.toString('latin1'), name: name.toString('latin1'), data });
  }
  return found;
}

/** The number of a display that sshd forwards: 10 in `localhost:10.0`. Its port is 6000 plus that number. */
export function forwardedDisplay(display: string | undefined): number | undefined {
  const number = Number(/^[\w.-]+:(\d{1,4})(?:\.\d+)?$/.exec(display ?? '')?.[1] ?? NaN);
  return Number.isInteger(number) ? number : undefined;
}
