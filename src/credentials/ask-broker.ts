import {
  BerthError,
  type ErrorCode,
  type ExitClass,
  isErrno,
} from '../system/errors/berth-error.ts';
import { escapeControl } from '../log.ts';
import type { BrokerAnswer, BrokerRequest } from './broker-protocol.ts';
import { restartWebServer } from './oidc/portal-hints.ts';
import { parsedJson } from '../system/text/parsed-json.ts';

/**
 * Asks root's broker for a new token through the user's own socket. If the user has as many connections as
 * `MaxConnections` allows, systemd closes a new one at once; then this tries again.
 *
 * @param timeoutMs for all tries together
 * @returns the token, and its expiry in seconds since the epoch
 * @throws {BerthError} `broker-unreachable`, `broker-timeout`, `broker-answer-invalid`, `broker-busy`, and the
 *   broker's own error with its code and next step
 */
export async function askBroker(
  socket: string,
  request: BrokerRequest,
  timeoutMs: number,
): Promise<{ readonly token: string; readonly expiry: number }> {
  const line = await askUntilServed(socket, `${JSON.stringify(request)}\n`, timeoutMs);
  const answer = parsedJson(line) as AnswerParts | null | undefined;
  if (answer === undefined) throw invalidAnswer('a line that is not JSON');
  if (answer?.error) {
    const { code, message, hint, exit } = answer.error;
    throw new BerthError(code, message, { hint, exit });
  }
  const { token, expiry } = answer ?? {};
  if (typeof token === 'string' && typeof expiry === 'number') return { token, expiry };
  throw invalidAnswer('neither a token nor an error');
}

type AnswerParts = Partial<Extract<BrokerAnswer, { token: string }>> &
  Partial<Extract<BrokerAnswer, { error: object }>>;

const maximumBytes = 128 * 1024;
const firstPauseMs = 100;
/** A broker takes about 0.2 s, so a longer pause would only waste time. */
const longestPauseMs = 1_000;

async function askUntilServed(path: string, request: string, timeoutMs: number): Promise<string> {
  const end = performance.now() + timeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await askOnce(path, request, end - performance.now());
    } catch (error) {
      // Random, so that clients that were rejected together do not retry together.
      const pause = pauseMs * (0.5 + Math.random());
      const busy = error instanceof BerthError && error.code === 'broker-busy';
      if (!busy || performance.now() + pause > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

async function askOnce(path: string, request: string, timeoutMs: number): Promise<string> {
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
        connection.destroy(invalidAnswer(`more than ${maximumBytes} bytes`));
      }
    });
    connection.on('error', (error) => reject(asFailure(path, error)));
    connection.on('close', () => {
      clearTimeout(timer);
      reject(received === '' ? busy() : invalidAnswer('half a line'));
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
      `at ${where} refused the connection: the socket belongs to another user`,
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
    'broker-busy',
    'the credential broker closed the connection, probably at its limit of connections per user',
  );
}

function invalidAnswer(what: string): BerthError {
  return failure('broker-answer-invalid', `answered with ${what}`);
}

function failure(code: ErrorCode, what: string, exit?: ExitClass): BerthError {
  return new BerthError(code, `the credential broker ${what}`, {
    exit,
    hint: `${restartWebServer}. The broker runs on the portal’s host only: \`systemctl status "berth-broker@*"\`.`,
  });
}
