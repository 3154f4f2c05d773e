/** The head of an HTTP/1.1 answer. */
export interface HttpHead {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  /** Bytes of the head itself. */
  readonly length: number;
}

const longestHead = 64 * 1024;

/** A refusal is a Status of some hundred bytes; a proxy's error page may be more. */
const longestBody = 256 * 1024;

/** @returns undefined while it is not whole. @throws Error where it is no HTTP/1.1 answer. */
export function parseHead(bytes: Buffer): HttpHead | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) {
    if (bytes.length > longestHead) throw malformed('a head without an end');
    return undefined;
  }
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = /^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1];
  if (status === undefined) throw malformed('no HTTP/1.1');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    if (colon < 1) throw malformed('a header without a name');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status: Number(status), headers: new Map(headers), length: end + 4 };
}

/** The body of an answer as text, as far as it is worth reading; undefined while more is to come. */
export function wholeBody({ headers }: HttpHead, bytes: Buffer): string | undefined {
  const text = bytes.toString('utf8');
  if (bytes.length >= longestBody) return text;
  if (headers.get('transfer-encoding') === 'chunked') {
    if (!text.endsWith('\r\n0\r\n\r\n')) return undefined;
    return text.replace(/(^|\r\n)[\da-f]+\r\n/gi, '').trimEnd();
  }
  return bytes.length < Number(headers.get('content-length') ?? 0) ? undefined : text;
}

function malformed(what: string): Error {
  return Object.assign(new Error(`it answers with ${what}`), { code: 'EPROTO' });
}
