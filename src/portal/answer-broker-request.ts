import {
  type BrokerAnswer,
  type BrokerRequest,
  brokerSocketUnit,
} from '../credentials/broker-protocol.ts';
import { asBerthError, BerthError, type ErrorCode } from '../system/errors/berth-error.ts';
import { escapeControl } from '../log.ts';
import { readRequestLine } from '../system/request-line.ts';
import { type BrokerDeps, brokerToken } from './broker-token.ts';
import { parsedJson } from '../system/text/parsed-json.ts';
import { mappingOrEmpty } from '../system/text/mapping.ts';

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
  readonly cluster?: string;
  /** See `BrokerToken`. */
  readonly session?: string | undefined;
}

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
    const line = await readRequestLine(
      connection.input,
      { bytes: 4 * 1024, timeoutMs: connection.timeoutMs },
      (why, message) =>
        refused(why === 'silence' ? 'broker-no-request' : 'broker-request-invalid', message),
    );
    const { cluster } = parseRequest(line);
    const { token, expiry, session } = await brokerToken(uid, cluster, deps);
    return { answer: { token, expiry }, uid, cluster, session };
  } catch (thrown) {
    const error = asBerthError(thrown, 'renewing a credential');
    return { answer: errorAnswer(error), error, uid };
  }
}

/** The answer that reports an error to the client. */
export function errorAnswer({ code, message, hint, exit }: BerthError): BrokerAnswer {
  return { error: { code, message, hint, exit } };
}

function parseRequest(line: string): BrokerRequest {
  const { cluster } = mappingOrEmpty(parsedJson(line));
  if (typeof cluster === 'string') return { cluster };
  throw refused('broker-request-invalid', 'the request is not {"cluster": NAME}');
}

function refused(code: ErrorCode, message: string): BerthError {
  return new BerthError(code, message, {
    hint: 'Use kubectl: it runs kube-credential, the client of this protocol.',
  });
}

/**
 * The UID at the other end of a connection, from the kernel. systemd reads SO_PEERCRED (unix(7)) when it
 * accepts a connection, and puts the result into the instance's name: `NUMBER-PID-UID` (versions 239 and
 * 252) or `NUMBER-COOKIE-PID_PIDFDID-UID` (newer ones). The UID is always last. For a client in a PID
 * namespace that systemd cannot see, the name is `NUMBER-unknown`.
 *
 * @param instance the unit's `%i`
 * @param triggersOf the units that started a unit, from systemd
 * @throws {BerthError} `broker-caller-unknown` if the kernel does not give a UID, `broker-socket-mismatch` if the connection
 *   came through another socket than the user's own, and what `triggersOf` throws
 */
export async function brokerClientUid(
  instance: string,
  triggersOf: (unit: string) => Promise<string>,
): Promise<number> {
  const uid = /^\d+(?:-\d+)?-\d+(?:_\d+)?-(0|[1-9]\d{0,9})$/.exec(instance)?.[1];
  if (uid === undefined)
    throw new BerthError(
      'broker-caller-unknown',
      `the UID of the client is unknown: systemd named this connection '${shown(instance)}'`,
    );
  const socket = await triggersOf(`berth-broker@${instance}.service`);
  if (socket !== brokerSocketUnit(Number(uid)))
    throw new BerthError(
      'broker-socket-mismatch',
      `no credential for UID ${uid}: it did not connect through its own socket but through '${shown(socket)}'`,
    );
  return Number(uid);
}

function shown(text: string): string {
  return escapeControl(text).slice(0, 120);
}
