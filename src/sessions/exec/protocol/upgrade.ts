import { createHash } from 'node:crypto';
import { BerthError } from '../../../system/errors/berth-error.ts';
import { userAgent } from '../../../system/program/session-id.ts';
import { execProtocol } from './channels.ts';
import { protocolError } from './exec-status.ts';

/** A command, and the container to run it in. */
export interface ExecTarget {
  readonly namespace: string;
  readonly pod: string;
  /** May be absent if the pod has only one. */
  readonly container?: string;
  readonly argv: readonly string[];
  /** ID of its session. Processes in a pod without such a mark are ended. */
  readonly connection?: string;
  /** With a pseudo-terminal, standard error is part of standard output. */
  readonly tty: boolean;
}

export interface UpgradeRequest {
  readonly url: URL;
  readonly target: ExecTarget;
  readonly token?: string;
  /** 16 random bytes, base64. */
  readonly key: string;
}

/**
 * The path and query of `pods/exec`, below the path of the server's URL.
 *
 * @throws {BerthError} `exec-not-utf8`
 */
export function execPath(base: URL, target: ExecTarget): string {
  const { namespace, pod, container, argv, tty, connection } = target;
  const mark = connection === undefined ? [] : ['env', `BERTH_CONNECTION=${connection}`];
  const query = [
    ...[...mark, ...argv].map((word) => `command=${encoded(word)}`),
    ...(container === undefined ? [] : [`container=${encodeURIComponent(container)}`]),
    'stdin=true&stdout=true',
    tty ? 'tty=true' : 'stderr=true',
  ];
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/exec`;
  return `${base.pathname.replace(/\/$/, '')}${path}?${query.join('&')}`;
}

/** The kubelet passes arguments on with gRPC, whose strings are UTF-8. */
function encoded(word: string): string {
  if (word.isWellFormed()) return encodeURIComponent(word);
  throw new BerthError(
    'exec-not-utf8',
    'an argument of the command is not valid UTF-8, which Kubernetes requires',
    {
      forUser: true,
    },
  );
}

/** The client's part of the opening handshake (RFC 6455, 4.1). */
export function upgradeRequest({ url, target, token, key }: UpgradeRequest): string {
  return [
    `GET ${execPath(url, target)} HTTP/1.1`,
    `Host: ${url.host}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${key}`,
    `Sec-WebSocket-Protocol: ${execProtocol}`,
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    `User-Agent: ${userAgent(target.connection)}`,
    '\r\n',
  ].join('\r\n');
}

/**
 * Checks that a `101` answers our key (RFC 6455, 4.1), and that the server speaks our protocol.
 *
 * @throws {BerthError} `exec-protocol`
 */
export function assertUpgraded(headers: ReadonlyMap<string, string>, key: string): void {
  const accept = createHash('sha1')
    .update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');
  if (headers.get('sec-websocket-accept') !== accept)
    throw protocolError('the Sec-WebSocket-Accept header does not match the request');
  if (headers.has('sec-websocket-extensions'))
    throw protocolError('an extension that was not requested');
  const chosen = headers.get('sec-websocket-protocol');
  if (chosen !== execProtocol)
    throw protocolError(`no common subprotocol: it chose ${JSON.stringify(chosen ?? 'none')}`);
}
