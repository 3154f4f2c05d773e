import { BerthError, type ExitClass, isErrno } from '../errors.ts';
import { escapeControl } from '../log.ts';
import type { BrokerAnswer, BrokerRequest } from './broker-protocol.ts';

/**
 * Asks root's broker for a new token over the user's own socket.
 *
 * @param timeoutMs For the whole conversation.
 * @throws {BerthError} `broker-unreachable`, `broker-timeout`, `broker-answer`, and the broker's own
 *   error with its code and next step.
 */
export async function askBroker(
  socket: string,
  request: BrokerRequest,
  timeoutMs: number,
): Promise<{ readonly token: string; readonly expiry: number }> {
  const line = await converse(socket, `${JSON.stringify(request)}\n`, timeoutMs);
  let answer: AnswerParts | null;
  try {
    answer = JSON.parse(line) as AnswerParts | null;
  } catch {
    throw noAnswer('a line that is not JSON');
  }
  if (answer?.error) {
    const { code, message, hint, exit } = answer.error;
    throw new BerthError(message, { code, hint, exit });
  }
  const { token, expiry } = answer ?? {};
  if (typeof token === 'string' && typeof expiry === 'number') return { token, expiry };
  throw noAnswer('neither a token nor an error');
}

type AnswerParts = Partial<Extract<BrokerAnswer, { token: string }>> &
  Partial<Extract<BrokerAnswer, { error: object }>>;

const maximumBytes = 128 * 1024;

async function converse(path: string, request: string, timeoutMs: number): Promise<string> {
  const { connect } = await import('node:net');
  return await new Promise((resolve, reject) => {
    let received = '';
    const connection = connect(path);
    const timer = setTimeout(
      () => connection.destroy(failure('timeout', `did not answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    connection.setEncoding('utf8');
    connection.on('connect', () => connection.write(request));
    connection.on('data', (text: string) => {
      received += text;
      const end = received.indexOf('\n');
      if (end >= 0) {
        resolve(received.slice(0, end));
        connection.destroy();
      } else if (received.length > maximumBytes) {
        connection.destroy(noAnswer(`more than ${maximumBytes} bytes`));
      }
    });
    connection.on('error', (error) => reject(asFailure(path, error)));
    connection.on('close', () => {
      clearTimeout(timer);
      reject(noAnswer('nothing'));
    });
  });
}

function asFailure(path: string, error: Error): BerthError {
  if (error instanceof BerthError) return error;
  const where = escapeControl(path);
  if (isErrno(error, 'EACCES')) {
    return failure(
      'unreachable',
      `may not be asked at ${where}: it is not this user’s`,
      'permission',
    );
  }
  return failure('unreachable', `cannot be reached at ${where} (${escapeControl(error.message)})`);
}

function noAnswer(what: string): BerthError {
  return failure('answer', `answered with ${what}`);
}

function failure(kind: string, what: string, exit: ExitClass = 'temporary'): BerthError {
  return new BerthError(`the credential broker ${what}`, {
    code: `broker-${kind}`,
    exit,
    hint: 'Log in to the portal again. The broker runs on the portal’s host only: systemctl status "berth-broker@*".',
  });
}
