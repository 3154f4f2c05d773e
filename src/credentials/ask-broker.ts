import { BerthError, type ErrorCode, type ExitClass, isErrno } from '../errors.ts';
import { escapeControl } from '../log.ts';
import type { BrokerAnswer, BrokerRequest } from './broker-protocol.ts';
import { restartWebServer } from './oidc/portal-advice.ts';

/**
 * Asks root's broker for a new token over the user's own socket. systemd closes a connection at once
 * where the user has as many as `MaxConnections` allows: then we come again.
 *
 * @param timeoutMs For all of it.
 * @throws {BerthError} `broker-unreachable`, `broker-timeout`, `broker-answer-invalid`, `broker-busy`, and the
 *   broker's own error with its code and next step.
 */
export async function askBroker(
  socket: string,
  request: BrokerRequest,
  timeoutMs: number,
): Promise<{ readonly token: string; readonly expiry: number }> {
  const line = await untilServed(socket, `${JSON.stringify(request)}\n`, timeoutMs);
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
const firstPauseMs = 100;
/** Who waits in line comes about as often as there can be a place: a broker takes some 0.2 s. */
const longestPauseMs = 1_000;

async function untilServed(path: string, request: string, timeoutMs: number): Promise<string> {
  const end = performance.now() + timeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await converse(path, request, end - performance.now());
    } catch (error) {
      // Those that were closed together do not come again together.
      const pause = pauseMs * (0.5 + Math.random());
      const busy = error instanceof BerthError && error.code === 'broker-busy';
      if (!busy || performance.now() + pause > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

async function converse(path: string, request: string, timeoutMs: number): Promise<string> {
  const { connect } = await import('node:net');
  return await new Promise((resolve, reject) => {
    let received = '';
    const connection = connect(path);
    const timer = setTimeout(
      () => connection.destroy(failure('broker-timeout', 'did not answer in time')),
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
      reject(received === '' ? busy() : noAnswer('half a line'));
    });
  });
}

function asFailure(path: string, error: Error): BerthError {
  if (error instanceof BerthError) return error;
  const where = escapeControl(path);
  if (isErrno(error, 'EPIPE', 'ECONNRESET')) return busy();
  if (isErrno(error, 'EACCES')) {
    return failure(
      'broker-unreachable',
      `may not be asked at ${where}: it is not this user’s`,
      'permission',
    );
  }
  return failure(
    'broker-unreachable',
    `cannot be reached at ${where} (${escapeControl(error.message)})`,
  );
}

function busy(): BerthError {
  return new BerthError(
    'the credential broker closed the connection, probably at its limit of connections per user',
    {
      code: 'broker-busy',
      exit: 'temporary',
      hint: 'Try again in a few seconds, with fewer kubectl at once.',
    },
  );
}

function noAnswer(what: string): BerthError {
  return failure('broker-answer-invalid', `answered with ${what}`);
}

function failure(code: ErrorCode, what: string, exit: ExitClass = 'temporary'): BerthError {
  return new BerthError(`the credential broker ${what}`, {
    code,
    exit,
    hint: `${restartWebServer}. The broker runs on the portal’s host only: systemctl status "berth-broker@*".`,
  });
}
