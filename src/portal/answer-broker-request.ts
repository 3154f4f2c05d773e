import { brokerClientUid } from './broker-client-uid.ts';
import type { BrokerAnswer, BrokerRequest } from '../credentials/broker-protocol.ts';
import { asBerthError, BerthError, type ErrorCode } from '../errors.ts';
import { brokerToken, type BrokerDeps } from './broker-token.ts';

export interface BrokerConnection {
  /** systemd's name of this connection: the unit's `%i`. */
  readonly instance: string;
  /** The units that started a unit, from systemd. */
  readonly triggersOf: (unit: string) => Promise<string>;
  readonly input: AsyncIterable<Buffer>;
  /** How long to wait for the client's request, in milliseconds. */
  readonly timeoutMs: number;
}

export interface BrokerResult {
  readonly answer: BrokerAnswer;
  readonly error?: BerthError;
  readonly uid?: number;
}

const maximumBytes = 4 * 1024;

/**
 * Answers one connection: one line in, one line out. Never throws: an error is the answer.
 *
 * Its own codes: `broker-request-invalid`, `broker-no-request`; and those of `brokerClientUid` and `brokerToken`.
 */
export async function answerBrokerRequest(
  connection: BrokerConnection,
  deps: BrokerDeps,
): Promise<BrokerResult> {
  let uid: number | undefined;
  try {
    uid = await brokerClientUid(connection.instance, connection.triggersOf);
    const { cluster } = parseRequest(await readLine(connection));
    const { token, expiry } = await brokerToken(uid, cluster, deps);
    return { answer: { token, expiry }, uid };
  } catch (thrown) {
    const error = asBerthError(thrown, 'renewing a credential');
    return { answer: errorAnswer(error), error, ...(uid !== undefined && { uid }) };
  }
}

/** The answer that reports an error to the client. */
export function errorAnswer({ code, message, hint, exit }: BerthError): BrokerAnswer {
  return { error: { code, message, hint, exit } };
}

async function readLine({ input, timeoutMs }: BrokerConnection): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(refused('broker-no-request', `no request within ${timeoutMs} ms`)),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([firstLine(input), silence]);
  } finally {
    clearTimeout(timer);
  }
}

async function firstLine(input: AsyncIterable<Buffer>): Promise<string> {
  let received = Buffer.alloc(0);
  for await (const chunk of input) {
    received = Buffer.concat([received, chunk]);
    const end = received.indexOf(0x0a);
    if (end >= 0 && end <= maximumBytes) return received.toString('utf8', 0, end);
    if (received.length > maximumBytes) {
      throw refused('broker-request-invalid', `the request is longer than ${maximumBytes} bytes`);
    }
  }
  throw refused('broker-request-invalid', 'the request does not end with a newline');
}

function parseRequest(line: string): BrokerRequest {
  try {
    const request = JSON.parse(line) as Partial<BrokerRequest> | null;
    if (typeof request?.cluster === 'string') return { cluster: request.cluster };
  } catch {
    // Reported below.
  }
  throw refused('broker-request-invalid', 'the request is not {"cluster": NAME}');
}

function refused(code: ErrorCode, message: string): BerthError {
  return new BerthError(message, {
    code,
    hint: 'Use kubectl: it runs kube-credential, the client of this protocol.',
  });
}
