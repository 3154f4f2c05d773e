/** Status line and headers of an HTTP/1.1 response. */
export interface ResponseHead {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** Length of this head in bytes. */
  readonly length: number;
}

const longestHead = 64 * 1024;

/** A Status has some hundred bytes; a proxy's error page may be longer. Bytes. */
const longestBody = 256 * 1024;

/** @returns undefined while it is incomplete. @throws {Error} `EPROTO` if it is not an HTTP/1.1 response */
export function parseResponseHead(bytes: Buffer): ResponseHead | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) {
    if (bytes.length > longestHead) throw malformed('headers that do not end');
    return undefined;
  }
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = /^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1];
  if (status === undefined) throw malformed('something other than HTTP/1.1');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    if (colon < 1) throw malformed('a header without a name');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status: Number(status), headers: new Map(headers), length: end + 4 };
}

/** The body of a response as text, or its beginning if it is very long; undefined while it is incomplete. */
export function completeBody({ headers }: ResponseHead, bytes: Buffer): string | undefined {
  const text = bytes.toString('utf8');
  if (bytes.length >= longestBody) return text;
  if (headers.get('transfer-encoding') === 'chunked') {
    if (!text.endsWith('\r\n0\r\n\r\n')) return undefined;
    return text.replace(/(^|\r\n)[\da-f]+\r\n/gi, '').trimEnd();
  }
  return bytes.length < Number(headers.get('content-length') ?? 0) ? undefined : text;
}

function malformed(what: string): Error {
  return Object.assign(new Error(`the server responded with ${what}`), { code: 'EPROTO' });
}
