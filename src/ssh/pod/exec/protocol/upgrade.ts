import { createHash } from 'node:crypto';
import { BerthError } from '../../../../errors.ts';
import { protocols, type ExecProtocol } from './channels.ts';
import { protocolError } from './protocol-error.ts';

/** What is to run, and where. */
export interface ExecTarget {
  readonly namespace: string;
  readonly pod: string;
  /** The pod's only one where absent. */
  readonly container?: string;
  readonly argv: readonly string[];
  /** `PID.STARTTIME` of the SSH connection that it is for: a process in a pod that wears none is ended. */
  readonly connection?: string;
  /** A pseudo-terminal inside: then standard error is on standard output. */
  readonly tty: boolean;
}

export interface UpgradeRequest {
  readonly url: URL;
  readonly target: ExecTarget;
  readonly token?: string;
  /** 16 random bytes in base64. */
  readonly key: string;
  readonly offered?: readonly ExecProtocol[];
}

/**
 * The path of `pods/exec` with its query, below the path of the server's own URL.
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

/** The kubelet hands words on by gRPC, whose strings are UTF-8. */
function encoded(word: string): string {
  if (word.isWellFormed()) return encodeURIComponent(word);
  throw new BerthError('a word of the command is not UTF-8, which Kubernetes hands on only', {
    code: 'exec-not-utf8',
    exit: 'usage',
    hint: 'Let a shell inside make the bytes: printf with octal escapes.',
    forUser: true,
  });
}

/** The client's half of the opening handshake (RFC 6455, 4.1). */
export function upgradeRequest({
  url,
  target,
  token,
  key,
  offered = protocols,
}: UpgradeRequest): string {
  return [
    `GET ${execPath(url, target)} HTTP/1.1`,
    `Host: ${url.host}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${key}`,
    `Sec-WebSocket-Protocol: ${offered.join(', ')}`,
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    'User-Agent: berth',
    '\r\n',
  ].join('\r\n');
}

/**
 * Whether a `101` is the answer to our key, and which protocol it chose (RFC 6455, 4.1).
 *
 * @throws {BerthError} `exec-protocol`
 */
export function agreedProtocol(
  headers: ReadonlyMap<string, string>,
  { key, offered = protocols }: Pick<UpgradeRequest, 'key' | 'offered'>,
): ExecProtocol {
  const accept = createHash('sha1')
    .update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');
  if (headers.get('sec-websocket-accept') !== accept)
    throw protocolError('the upgrade is not the answer to ours');
  if (headers.has('sec-websocket-extensions'))
    throw protocolError('an extension that was not asked for');
  const chosen = headers.get('sec-websocket-protocol');
  const protocol = offered.find((name) => name === chosen);
  if (protocol === undefined)
    throw protocolError(`no protocol in common: it chose ${JSON.stringify(chosen ?? 'none')}`);
  return protocol;
}
