import { writeSync } from 'node:fs';

/**
 * Reads the request of a client: one line, of a client that root does not trust.
 *
 * @param limits `bytes` at most, and `timeoutMs` for all of it
 * @param refuse makes the error from a reason
 * @throws what `refuse` makes, for silence, an end without a newline, and a line that is too long
 */
export async function readRequestLine(
  input: AsyncIterable<Buffer>,
  limits: { readonly bytes: number; readonly timeoutMs: number },
  refuse: (why: 'silence' | 'malformed', message: string) => Error,
): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    const { timeoutMs } = limits;
    const late = (): void => reject(refuse('silence', `no request within ${timeoutMs} ms`));
    timer = setTimeout(late, timeoutMs);
  });
  try {
    return await Promise.race([firstLine(input, limits.bytes, refuse), silence]);
  } finally {
    clearTimeout(timer);
  }
}

async function firstLine(
  input: AsyncIterable<Buffer>,
  longest: number,
  refuse: (why: 'malformed', message: string) => Error,
): Promise<string> {
  let received = Buffer.alloc(0);
  for await (const chunk of input) {
    received = Buffer.concat([received, chunk]);
    const end = received.indexOf(0x0a);
    if (end >= 0 && end <= longest) return received.toString('utf8', 0, end);
    if (received.length > longest)
      throw refuse('malformed', `the request is longer than ${longest} bytes`);
  }
  throw refuse('malformed', 'the request does not end with a newline');
}

/** Answers the client of this process with a line of JSON. One that has closed the connection gets none. */
export function writeAnswerLine(answer: object): void {
  try {
    writeSync(1, `${JSON.stringify(answer)}\n`);
  } catch {
    // The client has closed the connection.
  }
}
